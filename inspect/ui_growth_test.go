package inspect

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentrec/store"
)

// live is a session that is being recorded while a UI looks at it.
type live struct {
	t  *testing.T
	db *store.DB
	w  *store.Writer
	at time.Duration
}

func goLive(t *testing.T) (*live, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.db")
	db, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	w, err := db.Begin(t.Context(), store.Start{Name: "live", Started: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return &live{t: t, db: db, w: w}, path
}

func (l *live) add(steps ...step) {
	l.t.Helper()
	for _, s := range steps {
		l.at += time.Millisecond
		l.w.Frame(s.stream, l.at, []byte(s.raw), store.LF)
	}
	if err := l.w.Commit(l.t.Context(), nil); err != nil {
		l.t.Fatal(err)
	}
}

func (l *live) end() {
	l.t.Helper()
	if err := l.w.Close(l.t.Context(), store.End{State: store.Closed, Wire: [store.Streams]int64{-1, -1, -1}}); err != nil {
		l.t.Fatal(err)
	}
}

// A search goes on in what has been recorded since it began.
func TestSearchGoesOn(t *testing.T) {
	l, path := goLive(t)
	l.add(phiSteps[:7]...)
	d := drive(t, path, 80, 24)
	d.settle()
	d.keys("Enter").settle()
	d.keys("/").types("demo").settle()
	d.wants("hit 1 of 3")
	l.add(phiSteps[7:]...)
	d.grows()
	d.keys("n").settle()
	d.wants("of 4").keys("N").settle()
	d.keys("N").settle()
	d.wants("hit 4 of 4")
	l.end()
}

// A filtered timeline takes up what comes, also while another view is on the
// screen, and also what a later frame of a row matches.
func TestFilterGrowsBehindOtherViews(t *testing.T) {
	l, path := goLive(t)
	l.add(phiSteps[:10]...)
	d := drive(t, path, 80, 24)
	d.settle()
	d.keys("Enter").settle()
	d.keys("f").types(`tool_result or "a warning"`).settle()
	d.wants("1 of 8:")
	d.keys("2")
	l.add(phiSteps[10:]...)
	d.grows()
	d.wants("Call get_weather").keys("1")
	d.grows()
	d.wants("2 of 10:", "get_weather")
	for _, text := range []string{`"no such text"`, "call"} { // the last one counts
		d.keys("f")
		d.root.input.field.SetText("")
		d.types(text)
	}
	d.settle()
	d.wants("1 of 10: call")
	l.end()
}

// What check found is of the session as it was: one that has gone on is looked
// through again.
func TestFindingsOfAGrowingSession(t *testing.T) {
	l, path := goLive(t)
	l.add(phiSteps[0])
	d := drive(t, path, 80, 24)
	d.settle()
	d.keys("Enter").settle()
	d.keys("x").wants("no more findings that way")
	l.add(step{store.Out, "not a frame at all"})
	d.grows()
	d.keys("x").wants("still looking for findings").settle()
	d.keys("x").wants("a stray line on the agent's stdout")
	d.keys("4").wants("1 finding")
	l.end()
	d.grows()
	d.wants("up to frame 2; 4 looks again").keys("4").settle()
	if screen := strings.Join(d.rows(), "\n"); strings.Contains(screen, "looks again") {
		t.Error(screen)
	}
}

// The session that is selected stays so when others come before it, and is the
// one that keys speak of.
func TestSelectionStaysOnItsSession(t *testing.T) {
	path := record(t, "first", phiSteps)
	recordInto(t, path, "second", phiSteps[:9])
	d := drive(t, path, 120, 24)
	d.path = path
	d.settle()
	d.keys("j").wants("2/2")
	recordInto(t, path, "third", phiSteps)
	for range sessionTicks {
		d.tick()
	}
	d.settle()
	d.wants("third", "3/3")
	d.tick()
	d.settle()
	if row := d.rows()[2]; !strings.Contains(row, "third") || strings.Contains(row, "…") {
		t.Errorf("a session that came is not counted: %s", row)
	}
	d.keys("Delete").wants("delete session 1 first for good?").keys("n")
	d.keys("s", "s", "s", "Enter").settle()
	d.wants("1 first · timeline")
}
