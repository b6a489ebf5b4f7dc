package inspect

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
)

// blocks is rows of given heights that count how often they are asked.
type blocksOf struct {
	heights []int
	asked   int
}

func (b *blocksOf) Len() int { return len(b.heights) }
func (b *blocksOf) Item(i, _ int) []line {
	b.asked++
	out := make([]line, b.heights[i])
	for l := range out {
		out[l] = plain(fmt.Sprintf("%d.%d", i, l))
	}
	return out
}

// paint draws p on a screen of w columns and h rows and returns the rows.
func paint(t *testing.T, p *pane, w, h int) []string {
	t.Helper()
	screen := tcell.NewSimulationScreen("UTF-8")
	if err := screen.Init(); err != nil {
		t.Fatal(err)
	}
	defer screen.Fini()
	screen.SetSize(w, h)
	p.SetRect(0, 0, w, h)
	p.Draw(screen)
	screen.Show()
	return rowsOf(screen)
}

func rowsOf(screen tcell.SimulationScreen) []string {
	cells, w, h := screen.GetContents()
	out := make([]string, h)
	for y := range h {
		var b strings.Builder
		for x := range w {
			b.WriteString(string(cells[y*w+x].Runes))
		}
		out[y] = strings.TrimRight(b.String(), " ")
	}
	return out
}

func TestPaneKeepsTheSelectionOnTheScreen(t *testing.T) {
	heights := make([]int, 40)
	for i := range heights {
		heights[i] = 1 + i%3
	}
	p := newPane(themeOf(themeMono, false, os.Getenv), &blocksOf{heights: heights})
	moves := map[string]func(){
		"down": p.down, "up": p.up, "page on": func() { p.page(1) }, "page back": func() { p.page(-1) },
		"first": p.home, "last": p.end, "scroll on": func() { p.scroll(3) }, "scroll back": func() { p.scroll(-3) },
	}
	order := []string{"down", "page on", "down", "up", "page on", "scroll on", "scroll on", "last", "up", "page back", "scroll back", "first", "page back", "last", "page on", "page back"}
	for _, name := range order {
		moves[name]()
		shown := paint(t, p, 20, 7)
		if !strings.Contains("\n"+strings.Join(shown, "\n")+"\n", fmt.Sprintf("\n%d.0\n", p.sel)) {
			t.Fatalf("after %s item %d is not on the screen: %q", name, p.sel, shown)
		}
		if shown[6] == "" {
			t.Fatalf("after %s the screen is not full: %q", name, shown)
		}
	}
}

func TestPaneReadsAnItemLongerThanTheScreen(t *testing.T) {
	p := newPane(themeOf(themeMono, false, os.Getenv), &blocksOf{heights: []int{1, 12, 1}})
	p.bar = true
	seen := map[string]bool{}
	for range 30 {
		for _, row := range paint(t, p, 20, 5) {
			seen[strings.TrimLeft(row, "▌ ")] = true
		}
		p.down()
	}
	for i := range 12 {
		if !seen[fmt.Sprintf("1.%d", i)] {
			t.Errorf("line %d was never shown", i)
		}
	}
	if p.sel != 2 {
		t.Errorf("ends at item %d, want 2", p.sel)
	}
	for range 30 {
		p.up()
		paint(t, p, 20, 5)
	}
	if p.sel != 0 {
		t.Errorf("comes back to item %d, want 0", p.sel)
	}
}

func TestPaneAsksForWhatIsOnTheScreen(t *testing.T) {
	heights := make([]int, 1_000_000)
	for i := range heights {
		heights[i] = 1
	}
	rows := &blocksOf{heights: heights}
	p := newPane(themeOf(themeMono, false, os.Getenv), rows)
	for name, do := range map[string]func(){"first screen": func() {}, "end": p.end, "back": p.home, "into the middle": func() { p.to(500_000) }} {
		rows.asked = 0
		do()
		paint(t, p, 80, 24)
		if rows.asked > 200 {
			t.Errorf("%s: asked for %d items", name, rows.asked)
		}
	}
}

func TestPaneFollows(t *testing.T) {
	rows := &blocksOf{heights: []int{1, 1, 1}}
	p := newPane(themeOf(themeMono, false, os.Getenv), rows)
	p.end()
	paint(t, p, 10, 2)
	rows.heights = append(rows.heights, 1, 1)
	if shown := paint(t, p, 10, 2); shown[1] != "4.0" {
		t.Errorf("does not follow: %q", shown)
	}
	p.up()
	rows.heights = append(rows.heights, 1, 1)
	if paint(t, p, 10, 2); p.sel != 3 {
		t.Errorf("follows after a move: at %d", p.sel)
	}
}

func TestPaneEmpty(t *testing.T) {
	p := newPane(themeOf(themeMono, false, os.Getenv), &blocksOf{})
	for _, do := range []func(){p.down, p.up, p.home, p.end, func() { p.page(1) }, func() { p.scroll(-2) }} {
		do()
		paint(t, p, 10, 3)
	}
	if p.at(1) != -1 {
		t.Error("there is an item where there is none")
	}
}
