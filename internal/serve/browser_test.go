package serve_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/serve"
	"github.com/muse-agent/muse/selfassess/msv"
	"github.com/muse-agent/muse/selfregulate/ensemble"
)

var pictures = flag.String("pictures", "", "folder for screenshots of the page")

// missing skips a test whose tool isn't there; REQUIRE_BROWSER=1 makes that a failure.
func missing(t *testing.T, format string, a ...any) {
	t.Helper()
	if os.Getenv("REQUIRE_BROWSER") != "" {
		t.Fatalf(format, a...)
	}
	t.Skipf(format, a...)
}

// browser is a headless Chromium, driven over its debugging pipe.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	id      int
	session string
	urls    []string // requested by the page
}

func chromium(t *testing.T) *browser {
	t.Helper()
	var path string
	for _, n := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(n); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		missing(t, "no Chromium")
	}
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// Not t.TempDir: the browser's helpers may still write into the profile after it
	// was killed, and that is no failure of the page.
	profile, err := os.MkdirTemp("", "muse-browser")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
		"--disable-background-networking", "--disable-component-update", "--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{in, out}
	if err := cmd.Start(); err != nil {
		missing(t, "chromium: %v", err)
	}
	in.Close()
	out.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); to.Close(); from.Close() })
	// A browser that doesn't come up must not hang the test.
	watchdog := time.AfterFunc(4*time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { watchdog.Stop() })
	return &browser{t: t, to: to, from: bufio.NewReaderSize(from, 1<<20)}
}

// call sends a command and returns its result; events on the way are noted.
func (b *browser) call(method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.id++
	m := map[string]any{"id": b.id, "method": method, "params": params}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	raw, _ := json.Marshal(m)
	if _, err := b.to.Write(append(raw, 0)); err != nil {
		b.t.Fatalf("browser: %v", err)
	}
	for {
		line, err := b.from.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("browser: %s: %v", method, err)
		}
		var a struct {
			ID     int
			Method string
			Result map[string]any
			Error  *struct{ Message string }
			Params struct{ Request struct{ URL string } }
		}
		if err := json.Unmarshal(line[:len(line)-1], &a); err != nil {
			b.t.Fatalf("browser: %v", err)
		}
		if a.Method == "Network.requestWillBeSent" {
			b.urls = append(b.urls, a.Params.Request.URL)
		}
		if a.ID == b.id {
			if a.Error != nil {
				b.t.Fatalf("browser: %s: %s", method, a.Error.Message)
			}
			return a.Result
		}
	}
}

// eval runs a script in the page and returns its value.
func (b *browser) eval(js string) any {
	b.t.Helper()
	r := b.call("Runtime.evaluate", map[string]any{"expression": js, "returnByValue": true, "awaitPromise": true})
	if e := r["exceptionDetails"]; e != nil {
		b.t.Fatalf("script %q: %v", js, e)
	}
	v, _ := r["result"].(map[string]any)
	return v["value"]
}

func (b *browser) wait(js string) {
	b.t.Helper()
	for range 600 {
		if b.eval(js) == true {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.t.Fatalf("it never came true: %s; status %v", js, b.eval(`document.body.dataset.state + ": " + document.getElementById("status").textContent`))
}

func (b *browser) open(url string) {
	b.t.Helper()
	target := b.call("Target.createTarget", map[string]any{"url": "about:blank"})
	attached := b.call("Target.attachToTarget", map[string]any{"targetId": target["targetId"], "flatten": true})
	b.session, _ = attached["sessionId"].(string)
	b.call("Network.enable", nil)
	b.call("Page.enable", nil)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1100, "height": 1500, "deviceScaleFactor": 1, "mobile": false})
	b.call("Page.navigate", map[string]any{"url": url})
	b.wait(`!!document.body && document.body.dataset.state === "ready"`)
}

// shoot saves a picture of the whole page where a folder is given.
func (b *browser) shoot(name string) {
	b.t.Helper()
	r := b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true})
	raw, err := base64.StdEncoding.DecodeString(fmt.Sprint(r["data"]))
	if err != nil || len(raw) < 5000 {
		b.t.Errorf("%s: %d bytes, %v", name, len(raw), err)
	}
	if *pictures != "" {
		if err := os.WriteFile(filepath.Join(*pictures, name+".png"), raw, 0o644); err != nil {
			b.t.Error(err)
		}
	}
}

const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`

// node is a scripted member: sure about capitals, unsure about transforms, in
// conflict about brains. One of its texts looks like a page.
func node(name string, shift float64) ensemble.Node {
	return ensemble.Node{Name: name, Model: chat.Func{Name: name, Reply: func(_ context.Context, r chat.Request) (chat.Reply, error) {
		p := r.Messages[len(r.Messages)-1].Content
		if strings.Contains(p, "quick_answer") {
			level := map[msv.Dimension]float64{msv.CE: 92, msv.EM: 95, msv.CI: 6, msv.PI: 20}
			quick := "Sacramento"
			switch {
			case strings.Contains(p, "FFT"):
				level, quick = map[msv.Dimension]float64{msv.CE: 62, msv.EM: 55, msv.CI: 18, msv.PI: 45}, "divide and conquer"
			case strings.Contains(p, "brain"):
				level, quick = map[msv.Dimension]float64{msv.CE: 74, msv.EM: 68, msv.CI: 66, msv.PI: 58}, "no, "+name
			}
			m := map[string]any{"quick_answer": quick, "curiosity": 50 + shift, "doubt": 20, "calm": 30}
			for i, part := range (&msv.Vector{}).Parts() {
				m[part.Key] = min(100, max(0, level[part.Dimension]+shift+float64(i%3*5-5)))
			}
			raw, _ := json.Marshal(m)
			return chat.Reply{Text: string(raw)}, nil
		}
		task := strings.Fields(r.Messages[0].Content)
		text := "As " + strings.Trim(strings.Join(task[2:4], " "), ".") + ": a scripted contribution. "
		switch {
		case strings.Contains(p, "California"):
			return chat.Reply{Text: "Sacramento\nCONFIDENCE: 97 CONFLICT: 2"}, nil
		case strings.Contains(p, "brain"):
			text += hostile
		}
		return chat.Reply{Text: text + "\nCONFIDENCE: 70 CONFLICT: 45"}, nil
	}}}
}

type members []ensemble.Node

func (n members) Answer(ctx context.Context, q serve.Query) (serve.Answer, error) {
	cfg := ensemble.Default()
	cfg.Observe = func(e ensemble.Event) {
		if q.Watch != nil {
			q.Watch("ensemble", e)
		}
	}
	e, err := ensemble.New(n, cfg)
	if err != nil {
		return serve.Answer{}, err
	}
	r, err := e.Answer(ctx, ensemble.Query{Text: q.Problem()})
	return serve.Answer{Text: r.Text, Usage: r.Usage, Extension: map[string]any{"system": "ensemble", "result": r}}, err
}

// TestPageInBrowser: the three queries in headless Chromium.
func TestPageInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	url, _ := start(t, members{node("north", 4), node("east", -3), node("south", 0), node("west", 2)}, serve.Options{UI: true, About: map[string]any{"system": "ensemble"}})
	b := chromium(t)
	b.open(url + "/")
	for i, c := range []struct {
		system int
		name   string
	}{{1, "system1-capital"}, {2, "system2-fft"}, {2, "system2-brain"}} {
		b.eval(fmt.Sprintf(`document.querySelectorAll("#samples button")[%d].click()`, i))
		b.wait(`document.body.dataset.state === "done" || document.body.dataset.state === "error"`)
		if got := b.eval(fmt.Sprintf(`document.getElementById("s%d").className + "|" + document.getElementById("reason").textContent`, c.system)); !strings.HasPrefix(fmt.Sprint(got), fmt.Sprintf("on|System %d: ", c.system)) {
			t.Errorf("%s: indicator %v", c.name, got)
		}
		if got := b.eval(`document.querySelectorAll("#radars svg").length + " " + [...document.querySelector("#radars svg").querySelectorAll("[data-ring]")].map(e => e.dataset.ring).join()`); got != "4 25,50,75,100" {
			t.Errorf("%s: radars and rings: %v", c.name, got)
		}
		if got := b.eval(`document.querySelectorAll("#graph .bubble").length + " " + document.querySelectorAll("#graph .edge").length + " " + document.querySelectorAll("#list li").length`); got != "4 12 4" {
			t.Errorf("%s: nodes, edges, contributions: %v", c.name, got)
		}
		// Tooltip and click of a node.
		if got := fmt.Sprint(b.eval(`document.querySelector('#graph .bubble[data-node="north"] title').textContent`)); !strings.HasPrefix(got, "north: ") {
			t.Errorf("%s: tooltip %q", c.name, got)
		}
		b.eval(`document.querySelector('#graph .bubble[data-node="north"]').dispatchEvent(new MouseEvent("click"))`)
		if got := fmt.Sprint(b.eval(`document.getElementById("node").textContent`)); !strings.HasPrefix(got, "north: ") || len(got) < 20 {
			t.Errorf("%s: node %q", c.name, got)
		}
		b.shoot(c.name)
	}
	// What looks like a page is text.
	if got := fmt.Sprint(b.eval(`document.body.textContent.includes("<script>") + " " + document.title + " " + document.querySelectorAll("img, main script").length`)); got != "true muse: metacognition, seen from inside 0" {
		t.Errorf("hostile text: %s", got)
	}
	// One dimension's parts.
	b.eval(`document.querySelector('[data-dimension="CI"]').click()`)
	if got := fmt.Sprint(b.eval(`document.querySelector("#radars svg").getAttribute("aria-label")`)); !strings.Contains(got, "Internal") || !strings.Contains(got, "Sources 100") {
		t.Errorf("parts of CI: %s", got)
	}
	b.shoot("parts-of-ci")
	for _, u := range b.urls {
		if !strings.HasPrefix(u, url+"/") && !strings.HasPrefix(u, "about:") {
			t.Errorf("the page asked for %s", u)
		}
	}
}
