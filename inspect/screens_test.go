package inspect

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestScreens holds what the views show of the samples, character by character.
// Look at the difference before you write them anew with -update.
func TestScreens(t *testing.T) {
	for _, sample := range []string{"phi", "pi", "acp"} {
		for _, size := range [][2]int{{80, 24}, {60, 15}} {
			name := fmt.Sprintf("%s-%dx%d.txt", sample, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				d := drive(t, filepath.Join("..", "samples", sample+".agentrec"), size[0], size[1])
				d.settle()
				var b strings.Builder
				shot := func(what string) {
					fmt.Fprintf(&b, "== %s ==\n%s\n\n", what, strings.Join(d.rows(), "\n"))
				}
				d.keys("Enter").settle()
				shot("timeline")
				d.keys("c", "Space")
				shot("timeline with an open call")
				d.keys("Enter")
				shot("frame as a tree")
				d.keys("2")
				shot("frame as text")
				d.keys("3")
				shot("frame as bytes")
				d.keys("4").settle()
				shot("frame and its ids")
				d.keys("Esc", "2", "g", "]")
				shot("conversation")
				d.keys("3")
				shot("frames")
				d.keys("4").settle()
				shot("findings")
				d.keys("?")
				shot("help")
				file := filepath.Join("testdata", "screens", name)
				if *update {
					if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if b.String() != string(want) {
					t.Errorf("the screens differ from %s; look at them and write it anew with -update:\n%s", file, b.String())
				}
			})
		}
	}
}
