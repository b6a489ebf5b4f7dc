package inspect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The screen in the README is one that the UI draws. -update writes it anew.
func TestReadmeScreen(t *testing.T) {
	const begin, end = "```text\n", "```\n"
	file := filepath.Join("..", "README.md")
	readme, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(readme), begin)
	screen, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatal("the README has no screen")
	}
	d := drive(t, filepath.Join("..", "samples", "llm.agentrec"), 110, 24)
	d.settle()
	d.keys("Enter").settle()
	d.keys("g", "i", "Space")
	var b strings.Builder
	for _, row := range d.rows() {
		b.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+b.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if b.String() != screen {
		t.Errorf("the README shows\n%s\nbut the UI draws\n%s", screen, b.String())
	}
}
