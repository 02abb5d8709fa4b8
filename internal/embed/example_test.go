package embed_test

import (
	"context"
	"fmt"

	"github.com/muse-agent/muse/internal/embed"
)

func ExampleOpen() {
	m, err := embed.Open(embed.Options{DiskCache: "runs/embeddings.cache"})
	if err != nil {
		fmt.Println(err) // says what to run when the native parts are missing
		return
	}
	defer m.Close()
	rows, err := m.Embed(context.Background(), []string{"put a clean mug in shelf.", "> go to shelf 1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	var cosine float32
	for i := range rows[0] {
		cosine += rows[0][i] * rows[1][i]
	}
	fmt.Println(cosine, m.Stats().Computed)
}
