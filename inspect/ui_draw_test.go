package inspect

import (
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
)

// A line that is longer than its place says so with an ellipsis, and no other
// line does.
func TestDrawMarksWhatIsCut(t *testing.T) {
	th := themeOf(themeMono, false, func(string) string { return "" })
	for _, c := range []struct {
		l    line
		want string
	}{
		{line{{"1234567890", tonePlain}}, "1234567890"},
		{line{{"12345678901", tonePlain}}, "123456789…"},
		{line{{"1234567890   ", tonePlain}}, "1234567890"},
		{line{{"1234567890", tonePlain}, {"  ", tonePlain}}, "1234567890"},
		{line{{"1234567890", tonePlain}, {"x", tonePlain}}, "123456789…"},
		{line{{"12345678", tonePlain}, {"日本", tonePlain}}, "12345678…"},
		{line{{"123456789", tonePlain}, {"日", tonePlain}}, "123456789…"},
		{line{{"12345678日", tonePlain}}, "12345678日"},
		{line{{strings.Repeat("x", 10_000), tonePlain}}, "xxxxxxxxx…"},
		{line{{"short", tonePlain}}, "short"},
		{line{{"a\tb", tonePlain}}, `a\tb`},
		{nil, ""},
	} {
		screen := tcell.NewSimulationScreen("UTF-8")
		if err := screen.Init(); err != nil {
			t.Fatal(err)
		}
		draw(screen, 0, 0, 10, c.l, th, tcell.StyleDefault, false)
		screen.Show()
		if got := strings.TrimRight(rowsOf(screen)[0], " "); strings.ReplaceAll(got, "日 ", "日") != c.want {
			t.Errorf("%q is drawn as %q, want %q", c.l.String(), got, c.want)
		}
		screen.Fini()
	}
}

// The help tells all of what each command does, on any size, and names a key
// beside one command only.
func TestHelpTellsAll(t *testing.T) {
	path := recordTold(t, phiSteps, phiExchanges())
	for _, size := range [][2]int{{80, 24}, {60, 15}, {200, 50}, {40, 12}} {
		for _, way := range [][]string{{}, {"Enter"}, {"Enter", "2"}, {"Enter", "3"}, {"Enter", "4"}, {"Enter", "5"}, {"Enter", "g", "Enter"}, {"Enter", "5", "Enter"}} {
			d := drive(t, path, size[0], size[1])
			d.settle()
			d.keys(way...).settle()
			list := d.all(d.top())
			d.keys("?")
			text := ""
			for i := range d.top().pane.rows.Len() {
				for _, l := range d.top().pane.rows.Item(i, size[0]) {
					if n := width(visible(l.String())); n > size[0] {
						t.Fatalf("%d columns on a screen of %d: %s", n, size[0], l.String())
					}
					text += " " + l.String()
				}
			}
			text = strings.Join(strings.Fields(text), " ")
			for _, c := range list {
				if !strings.Contains(text, c.help) || !strings.Contains(text, ":"+c.name+" ") {
					t.Fatalf("%dx%d after %q: the help lacks :%s, %q:\n%s", size[0], size[1], way, c.name, c.help, text)
				}
			}
			if n := strings.Count(text, " Left "); n != 1 {
				t.Errorf("after %q Left stands beside %d commands", way, n)
			}
		}
	}
}
