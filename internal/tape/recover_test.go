//go:build linux

package tape

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentrec/store"
)

// names lists a directory.
func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestAPartlyDrainedTapeIsReadInPlace: the stored part and the rest of the tape
// make one session, under the number it has, and nothing is written.
func TestAPartlyDrainedTapeIsReadInPlace(t *testing.T) {
	tape := create(t)
	appendTo(t, tape, store.In, "one\ntwo\nthr")
	db := openStore(t, tape.db)
	other, err := db.Begin(t.Context(), store.Start{Name: "other"}) // so that numbers differ
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Close(t.Context(), store.End{State: store.Closed}); err != nil {
		t.Fatal(err)
	}
	d := begin(t, tape, db)
	if err := d.drainAll(t.Context(), tape.length.Load()); err != nil {
		t.Fatal(err)
	}
	db.Close()
	appendTo(t, tape, store.In, "ee\nfour\n")
	kill(t, tape)
	before := names(t, filepath.Dir(tape.db))

	for range 2 {
		read, err := Open(t.Context(), tape.db)
		if err != nil {
			t.Fatal(err)
		}
		list, err := read.Sessions(t.Context())
		if err != nil || len(list) != 2 {
			t.Fatalf("%d sessions, %v", len(list), err)
		}
		s, err := read.Find(t.Context(), "2")
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for f, err := range s.Frames(t.Context(), 1, 0) {
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(f.Raw))
		}
		if !slices.Equal(lines, []string{"one", "two", "three", "four"}) || s.State != store.Cut || s.Reason != killed {
			t.Errorf("%s %q: %q", s.State, s.Reason, lines)
		}
		if err := s.Refresh(t.Context()); err != nil || s.Count() != 4 {
			t.Errorf("refreshed: %d frames, %v", s.Count(), err)
		}
		read.Close()
		if after := names(t, filepath.Dir(tape.db)); !slices.Equal(before, after) {
			t.Errorf("reading left %v, was %v", after, before)
		}
	}
}

// TestALiveTapeIsLeftAlone: neither reading nor writing touches a tape whose
// recorder holds its lock.
func TestALiveTapeIsLeftAlone(t *testing.T) {
	tape := create(t)
	appendTo(t, tape, store.In, "one\n")
	for _, open := range []func(context.Context, string) (*store.DB, error){OpenWrite, Open} {
		db, err := open(t.Context(), tape.db)
		if err != nil {
			t.Fatal(err)
		}
		if list, err := db.Sessions(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("%d sessions, %v", len(list), err)
		}
		db.Close()
	}
	appendTo(t, tape, store.In, "two\n")
	if _, err := os.Stat(tape.path); err != nil {
		t.Error(err)
	}
}

// TestATapeIsTakenOverOnce: a session that was closed, but whose tape could not
// be removed, does not come twice.
func TestATapeIsTakenOverOnce(t *testing.T) {
	tape := create(t)
	appendTo(t, tape, store.In, "one\n")
	tape.Finish(&store.Exit{Code: 3})
	kill(t, tape)
	b, err := os.ReadFile(tape.path)
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(tape.keyPath)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		db, err := OpenWrite(t.Context(), tape.db)
		if err != nil {
			t.Fatal(err)
		}
		s, list := frames(t, db)
		if len(list) != 1 || s.State != store.Closed || s.Exit == nil || s.Exit.Code != 3 {
			t.Errorf("%s %v: %v", s.State, s.Exit, list)
		}
		db.Close()
		if _, err := os.Stat(tape.path); err == nil {
			t.Error("the tape is still there")
		}
		for path, data := range map[string][]byte{tape.path: b, tape.keyPath: key} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestALongTapeIsGivenBack: what is stored leaves the disk, the rest resumes,
// and the whole session is there.
func TestALongTapeIsGivenBack(t *testing.T) {
	tape := create(t)
	line := bytes.Repeat([]byte("0123456789abcdef"), MaxChunk/16)
	line[len(line)-1] = '\n'
	f := tape.Follower()
	defer f.Close()
	const chunks = (reclaimEvery + reclaimEvery/2) / MaxChunk
	for range chunks {
		appendTo(t, tape, store.Out, string(line))
	}
	if err := f.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for err := error(nil); err == nil; {
		err = f.step(time.Now().Add(time.Hour))
		if cerr := f.commit(t.Context()); cerr != nil {
			t.Fatal(cerr)
		}
	}
	if f.punched == 0 && punch(tape.file, 0, 0) {
		t.Error("nothing was given back")
	}
	appendTo(t, tape, store.Out, "last\n")
	f.Close()
	kill(t, tape)
	db, err := OpenWrite(t.Context(), tape.db)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := db.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if s.Chains[store.Out].Frames != chunks+1 || s.Chains[store.Out].Bytes != int64(chunks*len(line)+len("last\n")) || s.State != store.Cut {
		t.Errorf("%s: %d frames, %d bytes", s.State, s.Chains[store.Out].Frames, s.Chains[store.Out].Bytes)
	}
}

// TestADatabaseDeletedAfterItsTapeWasGivenBack says what is gone.
func TestADatabaseDeletedAfterItsTapeWasGivenBack(t *testing.T) {
	tape := create(t)
	f := tape.Follower()
	defer f.Close()
	step := func(chunk string) {
		t.Helper()
		appendTo(t, tape, store.Out, chunk)
		if err := f.ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		for f.step(time.Now().Add(time.Hour)) == nil {
		}
		if err := f.commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	step("before\nha")
	f.punched = f.last.Anchor.Offset + 1 // as if it were gone up to the half line
	f.last.Anchor = f.drain.at
	f.last.Done[store.Out] = int64(len("before\nha"))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		os.Remove(tape.db + suffix)
	}
	step("lf\nafter\n")
	if err := f.Complete(t.Context(), tape.Finish(&store.Exit{})); err != nil {
		t.Fatal(err)
	}
	f.Close()
	db := openStore(t, tape.db)
	s, got := frames(t, db)
	if !slices.Equal(got, []frame{{store.Out, "lf", store.LF}, {store.Out, "after", store.LF}}) {
		t.Errorf("frames %+v", got)
	}
	if s.State != store.Cut || !strings.Contains(s.Reason, fmt.Sprintf("%d bytes are missing", len("before\nha"))) {
		t.Errorf("%s: %s", s.State, s.Reason)
	}
}

// TestATapeWithADamagedStartIsTold: its session is listed as cut, by who reads
// and by who writes, and the tape stays.
func TestATapeWithADamagedStartIsTold(t *testing.T) {
	tape := create(t)
	appendTo(t, tape, store.Out, "one\n")
	b, err := os.ReadFile(tape.path)
	if err != nil {
		t.Fatal(err)
	}
	openStore(t, tape.db).Close()
	b[headerSize+recordSize] ^= 1
	if err := os.WriteFile(tape.path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	kill(t, tape)
	for name, open := range map[string]func(context.Context, string) (*store.DB, error){"reading": Open, "writing": OpenWrite} {
		db, err := open(t.Context(), tape.db)
		if err != nil {
			t.Fatal(err)
		}
		list, err := db.Sessions(t.Context())
		if err != nil || len(list) != 1 || list[0].State != store.Cut || !strings.Contains(list[0].Reason, errStart.Error()) {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
		db.Close()
		if _, err := os.Stat(tape.path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestADeletedSessionStaysAway although its tape cannot be read; what a recorder
// is at work on is not touched.
func TestADeletedSessionStaysAway(t *testing.T) {
	tape := create(t)
	if err := Forget(tape.db, tape.id); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(tape.path)
	if err != nil {
		t.Fatal(err)
	}
	b[headerSize+recordSize] ^= 1
	if err := os.WriteFile(tape.path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	kill(t, tape)
	db, err := OpenWrite(t.Context(), tape.db)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := frames(t, db)
	if err := db.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := Forget(tape.db, s.UID); err != nil {
		t.Fatal(err)
	}
	db.Close()
	db, err = OpenWrite(t.Context(), tape.db)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if list, err := db.Sessions(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("%d sessions, %v", len(list), err)
	}
	if err := Forget(tape.db, tape.id); err != nil {
		t.Errorf("without a tape: %v", err)
	}
}

// TestDamageInTheMiddle turns a bit over in each place of a record in the
// middle of a tape: what stands before and behind it is recovered, and the
// session says where it is damaged.
func TestDamageInTheMiddle(t *testing.T) {
	tape := create(t)
	appendTo(t, tape, store.Out, "one\ntw")
	from := tape.length.Load()
	appendTo(t, tape, store.Out, "o\nthree\nfo")
	to := tape.length.Load()
	appendTo(t, tape, store.Out, "ur\nfive\n")
	tape.Finish(&store.Exit{})
	whole, err := os.ReadFile(tape.path)
	if err != nil {
		t.Fatal(err)
	}
	openStore(t, tape.db).Close()
	kill(t, tape)
	for at := from; at < to; at++ {
		b := bytes.Clone(whole)
		b[at] ^= 1 << (at % 8)
		if err := os.WriteFile(tape.path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := Open(t.Context(), tape.db)
		if err != nil {
			t.Fatal(err)
		}
		s, got := frames(t, db)
		want := []frame{{store.Out, "one", store.LF}, {store.Out, "tw", store.None}, {store.Out, "ur", store.LF}, {store.Out, "five", store.LF}}
		if reason := fmt.Sprintf("its tape is damaged at byte %d: %d bytes cannot be read", from, to-from); s.State != store.Cut || s.Reason != reason || !slices.Equal(got, want) {
			t.Errorf("byte %d: %s, %s, %+v", at-from, s.State, s.Reason, got)
		}
		db.Close()
	}
}

// TestRoomThatWasNeverWritten: a crash of the machine can leave zeros at the end
// of a tape, which are no damage.
func TestRoomThatWasNeverWritten(t *testing.T) {
	tape := create(t)
	appendTo(t, tape, store.Out, "one\n")
	if err := os.Truncate(tape.path, tape.length.Load()+5000); err != nil {
		t.Fatal(err)
	}
	kill(t, tape)
	db, err := OpenWrite(t.Context(), tape.db)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if s, got := frames(t, db); s.Reason != killed || len(got) != 1 {
		t.Errorf("%s, %d frames", s.Reason, len(got))
	}
}

// TestADamagedHeaderIsTold: the session is recovered by the name of its tape, or
// listed when the tape cannot be read.
func TestADamagedHeaderIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		at     int64
		reason string
		frames int64
	}{
		"magic": {0, "its tape is not as it was left: the header is damaged", 1},
		"id":    {20, "its tape is not as it was left: it belongs to session ", 1},
		"newer": {8, "cannot be read: it was written by a newer agentrec", 0},
	} {
		tape := create(t)
		appendTo(t, tape, store.Out, "one\n")
		b, err := os.ReadFile(tape.path)
		if err != nil {
			t.Fatal(err)
		}
		b[c.at] ^= 4
		if err := os.WriteFile(tape.path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		kill(t, tape)
		for _, open := range []func(context.Context, string) (*store.DB, error){Open, OpenWrite} {
			db, err := open(t.Context(), tape.db)
			if err != nil {
				t.Fatal(err)
			}
			s, err := db.Find(t.Context(), "")
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if s.State != store.Cut || !strings.Contains(s.Reason, c.reason) || s.Count() != c.frames {
				t.Errorf("%s: %s: %s, %d frames", name, s.State, s.Reason, s.Count())
			}
			db.Close()
		}
	}
}

// TestSessionsAreNumberedAsTheyStarted although the first recorder left its tape
// and the second one has long drained its own.
func TestSessionsAreNumberedAsTheyStarted(t *testing.T) {
	first := create(t)
	appendTo(t, first, store.Out, "one\n")
	kill(t, first)
	second, err := Create(first.db, Start{Started: time.Now().Add(time.Millisecond), Argv: []string{"second"}, Unredacted: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.remove)
	f := second.Follower()
	if err := f.Complete(t.Context(), second.Finish(&store.Exit{})); err != nil {
		t.Fatal(err)
	}
	f.Close()
	db, err := OpenWrite(t.Context(), first.db)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list, err := db.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].UID != first.id || list[0].ID != 1 || list[0].Count() != 1 || list[1].UID != second.id || list[1].ID != 2 {
		t.Errorf("sessions %+v", list)
	}
}
