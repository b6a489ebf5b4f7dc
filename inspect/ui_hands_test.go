package inspect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
)

// mouse sends a mouse action at a cell of the screen and draws.
func (d *driven) mouse(action tview.MouseAction, x, y int) *driven {
	d.t.Helper()
	d.rows()
	d.root.MouseHandler()(action, tcell.NewEventMouse(x, y, tcell.Button1, 0), func(tview.Primitive) {})
	d.rows()
	return d
}

func TestMouse(t *testing.T) {
	d := drive(t, record(t, "demo", phiSteps), 80, 10)
	d.settle()
	d.mouse(tview.MouseLeftDoubleClick, 5, 2).wants("timeline")
	d.mouse(tview.MouseLeftClick, 5, 4).wants("4/12")
	d.mouse(tview.MouseScrollDown, 5, 4).wants("Oslo", "4/12").mouse(tview.MouseScrollUp, 5, 4).wants("greeting")
	d.mouse(tview.MouseLeftDoubleClick, 5, 5).wants("#5 out")
	d.mouse(tview.MouseRightClick, 5, 5).wants("timeline")
	bar := d.rows()[9]
	d.mouse(tview.MouseLeftClick, strings.Index(bar, "? help")+1, 9).wants("keys and commands")
	for y := range 10 { // nowhere does it break
		for _, a := range []tview.MouseAction{tview.MouseLeftClick, tview.MouseScrollDown, tview.MouseMove, tview.MouseMiddleClick} {
			d.mouse(a, 79, y)
		}
	}
	d.mouse(tview.MouseLeftClick, 200, 200)
}

// A theme without colour has no colour, and none has a background of its own
// but for marks and menus.
func TestThemes(t *testing.T) {
	for _, name := range []string{themeDark, themeLight, themeMono} {
		th := themeOf(name, true, func(string) string { return "" })
		for n := range tones {
			fg, bg, _ := th.style(n).Decompose()
			if name == themeMono && (fg != tcell.ColorDefault || bg != tcell.ColorDefault) {
				t.Errorf("tone %d has a colour without colours", n)
			}
			if bg != tcell.ColorDefault && n != toneMark && n != toneMenu {
				t.Errorf("%s: tone %d has a background", name, n)
			}
		}
	}
	env := map[string]string{}
	choose := func(color bool) string { return themeOf("auto", color, func(k string) string { return env[k] }).name }
	if got := choose(true); got != themeDark {
		t.Errorf("got %s", got)
	}
	if env["COLORFGBG"] = "0;15"; choose(true) != themeLight {
		t.Error("a light background was not seen")
	}
	if choose(false) != themeMono {
		t.Error("colours where none are wanted")
	}
}

func TestCopySaveAndPrograms(t *testing.T) {
	d := drive(t, record(t, "demo", phiSteps), 80, 24)
	d.settle()
	var copied, fed []byte
	var ran []string
	d.clipboard = func(b []byte) { copied = b }
	d.external = func(argv []string, input []byte) error {
		ran, fed = argv, input
		return nil
	}
	d.environment = func(k string) string { return map[string]string{"PAGER": "less -R", "EDITOR": "ed"}[k] }
	d.keys("Enter", "c", "Enter", "y")
	if string(copied) != phiSteps[9].raw {
		t.Errorf("copied %q", copied)
	}
	d.wants("copied the frame, 91 B").keys("G", "y")
	if string(copied) != "Oslo" {
		t.Errorf("copied %q", copied)
	}
	d.wants("copied args.city")
	name := filepath.Join(t.TempDir(), "frame.json")
	d.keys("w")
	d.root.input.field.SetText("")
	d.types(name).wants("saved")
	if b, err := os.ReadFile(name); err != nil || string(b) != phiSteps[9].raw {
		t.Errorf("saved %q, %v", b, err)
	}
	d.keys(":").types("save " + name).wants("file exists")
	d.keys("v")
	if strings.Join(ran, " ") != "less -R" || !strings.Contains(string(fed), "city: Oslo") {
		t.Errorf("ran %q with %q", ran, fed)
	}
	d.keys("V")
	if len(ran) != 2 || ran[0] != "ed" {
		t.Errorf("ran %q", ran)
	}
	if _, err := os.Stat(ran[1]); !os.IsNotExist(err) {
		t.Errorf("the copy for the editor is left behind: %v", err)
	}
}
