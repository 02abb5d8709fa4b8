package train

import (
	"context"
	"image"
	"image/color"
	"image/png"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// missingBrowser skips a test that needs Chromium; REQUIRE_BROWSER=1 makes that a failure.
func missingBrowser(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("REQUIRE_BROWSER") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// blocked is a network that refuses everything and notes what was asked for: a proxy for
// a browser.
type blocked struct {
	mu    sync.Mutex
	asked []string
	url   string
}

func newBlocked(t *testing.T) *blocked {
	t.Helper()
	b := &blocked{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.asked = append(b.asked, r.Host)
		http.Error(w, "blocked", http.StatusForbidden)
	})}
	go func() { _ = srv.Serve(l) }() // ends with Close
	t.Cleanup(func() { _ = srv.Close() })
	b.url = "http://" + l.Addr().String()
	return b
}

// hosts are what was asked for, less what the browser itself wants of its maker.
func (b *blocked) hosts() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, h := range b.asked {
		if !strings.Contains(h, "google") && !strings.Contains(h, "gvt") && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// screenshot opens a page in headless Chromium behind net.
func screenshot(t *testing.T, net *blocked, page, name string) image.Image {
	t.Helper()
	browser := ""
	for _, n := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(n); err == nil {
			browser = p
			break
		}
	}
	if browser == "" {
		missingBrowser(t, "no Chromium")
	}
	// Not t.TempDir: helpers of the browser may still write after it has ended.
	dir, err := os.MkdirTemp("", "muse-report")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file, shot := filepath.Join(dir, name+".html"), filepath.Join(dir, name+".png")
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--proxy-server="+net.url, "--proxy-bypass-list=<-loopback>",
		"--window-size=960,2600", "--screenshot="+shot, "file://"+file).CombinedOutput()
	if err != nil {
		missingBrowser(t, "chromium: "+err.Error()+"\n"+string(out))
	}
	f, err := os.Open(shot)
	if err != nil {
		t.Fatalf("no screenshot: %v\n%s", err, out)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// count is how many pixels have a colour, give or take 3 a channel.
func count(img image.Image, want color.RGBA) int {
	n := 0
	near := func(a uint32, b uint8) bool { d := int(a>>8) - int(b); return d >= -3 && d <= 3 }
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if r, g, bl, _ := img.At(x, y).RGBA(); near(r, want.R) && near(g, want.G) && near(bl, want.B) {
				n++
			}
		}
	}
	return n
}

// The report is drawn by a real browser whose every way out is closed, and it tries none.
func TestReportOpensWithoutNetwork(t *testing.T) {
	if testing.Short() && os.Getenv("REQUIRE_BROWSER") == "" {
		t.Skip("starts a browser; leave -short away")
	}
	r, err := NewPlayReport("a & <script>", reported())
	if err != nil {
		t.Fatal(err)
	}
	net := newBlocked(t)
	img := screenshot(t, net, r.HTML(), "report")
	if h := net.hosts(); len(h) > 0 {
		t.Errorf("the page asked %v", h)
	}
	// The first agent's bars: #0072b2 at opacity .75 on white. Its curve: the colour itself.
	if bars, curve := count(img, color.RGBA{64, 149, 197, 255}), count(img, color.RGBA{0, 114, 178, 255}); bars < 20_000 || curve < 500 {
		t.Errorf("%d pixels of bars, %d of curves: the plots aren't drawn", bars, curve)
	}
	// The same way of looking sees a page that does ask.
	net = newBlocked(t)
	screenshot(t, net, `<!doctype html><img src="http://pictures.example/a.png">`, "asks")
	if h := net.hosts(); !slices.Contains(h, "pictures.example") {
		t.Errorf("a page that asks was not noticed: %v", h)
	}
}
