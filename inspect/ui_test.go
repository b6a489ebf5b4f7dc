package inspect

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"

	"github.com/gdamore/tcell/v2"
)

// driven is a UI that a test drives by hand: keys go in, the screen comes out,
// and work that others posted is done when the test says so.
type driven struct {
	*ui
	t      *testing.T
	screen tcell.SimulationScreen
	w, h   int
}

func drive(t *testing.T, path string, w, h int) *driven {
	t.Helper()
	ctx := t.Context()
	db, err := tape.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	u := newUI(ctx, db, "session.db", themeOf(themeMono, false, func(string) string { return "" }))
	u.now = func() time.Time { return time.Date(2026, 3, 4, 6, 0, 0, 0, time.UTC) }
	d := &driven{ui: u, t: t, screen: tcell.NewSimulationScreen("UTF-8"), w: w, h: h}
	if err := d.screen.Init(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		u.release()
		db.Close()
		d.screen.Fini()
	})
	if err := u.sessionsView(); err != nil {
		t.Fatal(err)
	}
	u.tick()
	return d
}

// settle does posted work until nothing works behind the screen any more. What
// is posted runs between the waits, never beside one: it may start workers.
func (d *driven) settle() *driven {
	for {
		idle := make(chan struct{})
		go func() {
			d.workers.Wait()
			close(idle)
		}()
		var posted []func()
		for waiting := true; waiting; {
			select {
			case f := <-d.posts:
				posted = append(posted, f)
			case <-idle:
				waiting = false
			}
		}
		for more := true; more; { // posted just before the last worker ended
			select {
			case f := <-d.posts:
				posted = append(posted, f)
			default:
				more = false
			}
		}
		if len(posted) == 0 {
			return d
		}
		for _, f := range posted {
			f()
		}
	}
}

// grows lets the UI look for what has been recorded since and reports whether
// that changed the screen.
func (d *driven) grows() bool {
	before := strings.Join(d.rows(), "\n")
	d.tick()
	d.settle()
	return strings.Join(d.rows(), "\n") != before
}

// keys presses keys, as keyName spells them, and draws after each.
func (d *driven) keys(keys ...string) *driven {
	d.t.Helper()
	for _, k := range keys {
		d.press(k)
		d.rows()
	}
	return d
}

// types types text into the line below the view and ends it with Enter.
func (d *driven) types(text string) *driven {
	d.t.Helper()
	if d.root.input == nil {
		d.t.Fatal("nothing is being typed")
	}
	for _, r := range text {
		d.root.InputHandler()(tcell.NewEventKey(tcell.KeyRune, r, 0), nil)
	}
	d.root.InputHandler()(tcell.NewEventKey(tcell.KeyEnter, 0, 0), nil)
	d.rows()
	return d
}

// rows draws and returns the screen.
func (d *driven) rows() []string {
	d.screen.SetSize(d.w, d.h)
	d.screen.Clear()
	d.root.SetRect(0, 0, d.w, d.h)
	d.root.Draw(d.screen)
	d.screen.Show()
	return rowsOf(d.screen)
}

// wants demands that the screen holds all of these.
func (d *driven) wants(parts ...string) *driven {
	d.t.Helper()
	screen := strings.Join(d.rows(), "\n")
	for _, p := range parts {
		if !strings.Contains(screen, p) {
			d.t.Fatalf("%q is not on the screen:\n%s", p, screen)
		}
	}
	return d
}

func TestTour(t *testing.T) {
	d := drive(t, record(t, "demo", phiSteps), 80, 24)
	d.settle()
	d.wants("session.db: 1 session", "demo", "exit status 0", "q quit")
	d.keys("Enter").wants("timeline", "┌", "Say hello", "x2 Hello, ready.", "get_weather", `{"city":"Oslo"} = Oslo: 4 °C`, "a warning on stderr")
	d.keys("g", "j", "j", "Space").wants("session_id: demo", `= {"type":"session_created"`).keys("Space")
	d.keys("c", "Space").wants("city: Oslo", "= Oslo: 4 °C")
	d.keys("%").wants("#11 in tool_result", "summary: Oslo: 4 °C")
	d.keys("Tab").wants("call_id: call_1", "text").keys("Tab").wants("00000000  7b 22", "bytes")
	d.keys("Tab").settle()
	d.wants("answers       #10", "call_1", "minted by the agent, first in #10")
	d.keys("[").wants("#10 out tool_call").keys("%").wants("#11")
	d.keys("Esc", "2").wants("conversation", "You", "Weather in Oslo?", "Call get_weather").keys("G", "k").wants("turn 2 completed")
	d.keys("Tab").wants("frames", "tool_call").keys("g", "/").types("READY").settle()
	d.wants("hit 1 of 1", "6/13")
	d.keys("?").wants("keys and commands of the frames view", ":pair").keys("Esc")
	d.keys(":").types("9").wants("9/13").keys(":").types("nonsense").wants(`no command "nonsense"`)
	d.keys("Esc").wants("session.db: 1 session")
}

func TestSearchAndFilter(t *testing.T) {
	d := drive(t, record(t, "demo", phiSteps), 80, 24)
	d.settle()
	d.keys("Enter", "/").types("label = run").settle()
	d.wants("hit 1 of 2").keys("n").wants("hit 2 of 2", "8/12").keys("n").wants("hit 1 of 2").keys("N").wants("hit 2 of 2")
	d.keys("Alt-/").types(`tool = get_weather`).settle()
	d.wants("of 2")
	d.keys("/").types("nowhere to be found").settle()
	d.wants(`"nowhere to be found" was not found`)
	d.keys("/").types("label = ").settle()
	d.wants("reading the filter")
	d.keys("f").types("call or err").settle()
	d.wants("2 of 12: call or err", "get_weather", "a warning on stderr")
	if strings.Contains(strings.Join(d.rows(), "\n"), "Say hello") {
		t.Error("the filter lets a prompt through")
	}
	d.keys("f")
	d.root.input.field.SetText("")
	d.types("").wants("Say hello")
}

func TestManageSessions(t *testing.T) {
	path := record(t, "first", phiSteps)
	recordInto(t, path, "second", phiSteps[:9])
	d := drive(t, path, 120, 24)
	d.path = path
	d.settle()
	d.wants("first", "second", "2 sessions")
	d.keys("r")
	d.root.input.field.SetText("")
	d.types("renamed").wants("renamed", "first")
	d.keys("t").types("ticket=42").wants("ticket=42")
	d.keys("=").settle()
	d.wants("Say hello", "3 differences", " < ").keys("d", "Space").wants("left", "call get_weather").keys("Esc")
	d.keys("s", "s").wants("sorted by lasted").keys("f").types("renamed").wants(`1 of 2 with "renamed"`)
	d.keys("Delete").wants("delete session 2 renamed for good?").keys("n").wants("1 of 2")
	d.keys("Delete", "y").wants("1 session")
	d.keys("f")
	d.root.input.field.SetText("")
	d.types("").wants("first")
}

func TestSearchEverywhere(t *testing.T) {
	path := record(t, "first", phiSteps)
	recordInto(t, path, "second", phiSteps[:9])
	d := drive(t, path, 120, 24)
	d.settle()
	d.keys("/").types("hello").settle()
	d.wants("hello in all sessions", "6 hits", "2 second", "1 first", "run                  Say hello", "event.textDelta      Hello,")
	d.keys("G", "Enter").settle()
	d.wants("1 first", "timeline").keys("Esc", "Esc").wants("2 sessions")
	d.keys("/").types("label =").settle()
	d.wants("reading the filter")
}

// Every key of every view does something, says something or is reported; none
// breaks the screen, on three sizes.
func TestEveryKey(t *testing.T) {
	full := record(t, "demo", phiSteps)
	told := recordTold(t, phiSteps, phiExchanges())
	bare := record(t, "bare", nil)
	none := filepath.Join(t.TempDir(), "session.db")
	if db, err := store.Open(t.Context(), none); err != nil {
		t.Fatal(err)
	} else {
		db.Close()
	}
	for _, at := range []struct {
		path string
		w, h int
	}{{full, 80, 24}, {full, 60, 15}, {full, 20, 4}, {told, 80, 24}, {bare, 80, 24}, {none, 80, 24}} {
		path, size := at.path, [2]int{at.w, at.h}
		for _, way := range [][]string{{}, {"Enter"}, {"Enter", "2"}, {"Enter", "3"}, {"Enter", "Enter"}, {"Enter", "?"}, {"Enter", "5"}, {"Enter", "5", "Enter"}} {
			t.Run(fmt.Sprintf("%dx%d of %s after %s", size[0], size[1], filepath.Base(filepath.Dir(path)), strings.Join(way, " ")), func(t *testing.T) {
				d := drive(t, path, size[0], size[1])
				d.settle()
				d.external = func([]string, []byte) error { return nil }
				d.clipboard = func([]byte) {}
				d.keys(way...)
				depth := len(d.views)
				for _, c := range d.all(d.top()) {
					for _, k := range c.keys {
						if c.name == "quit" || c.name == "save" || c.name == "redraw" {
							continue
						}
						d.keys(k)
						if d.root.input != nil {
							d.root.InputHandler()(tcell.NewEventKey(tcell.KeyEsc, 0, 0), nil)
						}
						d.pending = nil
						for len(d.views) > depth {
							d.pop()
						}
						if len(d.views) < depth {
							for len(d.views) > 1 {
								d.pop()
							}
							d.keys(way...)
						}
						d.rows()
					}
				}
				d.keys("q")
				select {
				case <-d.quit:
				default:
					t.Error("q does not leave")
				}
			})
		}
	}
}

// No two commands of a view share a key: the second could never be reached.
func TestKeysAreUnique(t *testing.T) {
	d := drive(t, recordTold(t, phiSteps, phiExchanges()), 80, 24)
	for _, way := range [][]string{{}, {"Enter"}, {"Enter", "2"}, {"Enter", "3"}, {"Enter", "Enter"}, {"Enter", "5"}, {"Enter", "5", "Enter"}} {
		for len(d.views) > 1 {
			d.pop()
		}
		d.keys(way...)
		names := map[string]string{}
		v := d.top()
		seen := map[string]string{}
		for _, c := range v.commands {
			if old, ok := names[c.name]; ok {
				t.Errorf("%s: two commands named %s (%s)", v.name, c.name, old)
			}
			names[c.name] = c.help
			for _, k := range c.keys {
				if old, ok := seen[k]; ok {
					t.Errorf("%s: %s is bound to %s and %s", v.name, k, old, c.name)
				}
				seen[k] = c.name
			}
		}
	}
}

func TestFollow(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "session.db")
	db, err := store.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w, err := db.Begin(ctx, store.Start{Name: "live", Started: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	add := func(steps []step) {
		for _, s := range steps {
			w.Frame(s.stream, 0, []byte(s.raw), store.LF)
		}
		if err := w.Commit(ctx, nil); err != nil {
			t.Fatal(err)
		}
	}
	add(phiSteps[:4])
	d := drive(t, path, 80, 24)
	d.settle()
	d.wants("recording").keys("Enter", "G").wants("following", "Say hello")
	add(phiSteps[4:6])
	if !d.grows() {
		t.Error("news went unnoticed")
	}
	d.wants("x2 Hello, ready.")
	if d.grows() {
		t.Error("news where there was none")
	}
	d.keys("3", "G")
	add(phiSteps[6:])
	d.grows()
	d.wants("13/13", "done")
	exit := store.Exit{Code: 3}
	if err := w.Close(ctx, store.End{State: store.Closed, Exit: &exit, Wire: [store.Streams]int64{-1, -1, -1}}); err != nil {
		t.Fatal(err)
	}
	d.grows()
	d.wants("exit status 3")
}

// watched is a screen whose text others may read while it is drawn on.
type watched struct {
	tcell.SimulationScreen
	mu    sync.Mutex
	shown string
}

func (w *watched) Show() {
	w.SimulationScreen.Show()
	text := strings.Join(rowsOf(w.SimulationScreen), "\n")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown = text
}

func (w *watched) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shown
}

// The real event loop starts, draws, takes keys and ends, and leaves nothing
// behind.
func TestRun(t *testing.T) {
	path := record(t, "demo", phiSteps)
	for _, how := range []string{"quit", "cancel"} {
		t.Run(how, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			screen := &watched{SimulationScreen: tcell.NewSimulationScreen("UTF-8")}
			ended := make(chan error, 1)
			go func() { ended <- runInspect(ctx, inspectOptions{File: path, Screen: screen, Out: nothing{}}) }()
			deadline := time.After(20 * time.Second)
			for seen := false; !seen; {
				select {
				case err := <-ended:
					t.Fatalf("ended early: %v", err)
				case <-deadline:
					t.Fatal("nothing was drawn")
				case <-time.After(20 * time.Millisecond):
					seen = strings.Contains(screen.text(), "Say hello")
				}
			}
			if how == "quit" {
				screen.InjectKey(tcell.KeyRune, 'q', 0)
			} else {
				cancel()
			}
			select {
			case err := <-ended:
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
			case <-deadline:
				t.Fatal("does not end")
			}
		})
	}
}
