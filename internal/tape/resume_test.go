//go:build linux

package tape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentrec/store"
)

// TestWhatWasLearnedIsKnownAcrossDrains: a secret that stood beside its name, or
// in argv, before a recorder was killed is found alone behind that, however long
// ago it was; and the database has never held it in clear.
func TestWhatWasLearnedIsKnownAcrossDrains(t *testing.T) {
	const named, given = "local/k3y-0001-of-mine", "given/k3y-0002-of-mine"
	tape, err := Create(filepath.Join(t.TempDir(), "session.db"), Start{Started: time.Now(), Argv: []string{"agent", "--token", given}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tape.remove)
	holdsNone := func() {
		t.Helper()
		for _, suffix := range []string{"", "-wal"} {
			b, err := os.ReadFile(tape.db + suffix)
			if err != nil && suffix == "" {
				t.Fatal(err)
			}
			if bytes.Contains(b, []byte(named)) || bytes.Contains(b, []byte(given)) {
				t.Errorf("the database%s holds a secret", suffix)
			}
		}
	}
	appendTo(t, tape, store.In, `{"config":{"api_key":"`+named+`"}}`+"\n")
	for i := range 1000 {
		appendTo(t, tape, store.Out, fmt.Sprintf("{\"n\":%d}\n", i))
	}
	db := openStore(t, tape.db)
	d := begin(t, tape, db)
	if err := d.drainAll(t.Context(), tape.length.Load()); err != nil {
		t.Fatal(err)
	}
	holdsNone()
	db.Close()
	appendTo(t, tape, store.Out, `{"error":"bad key `+named+` or `+given+`"}`+"\n")
	kill(t, tape)

	checkLast(t, Open, tape.db, "reading", named, given)
	checkLast(t, OpenWrite, tape.db, "writing", named, given)
	holdsNone()
}

// checkLast sees that the last frame has two tokens and no secret.
func checkLast(t *testing.T, open func(context.Context, string) (*store.DB, error), path, name string, secrets ...string) {
	t.Helper()
	db, err := open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, got := frames(t, db)
	last := got[len(got)-1].raw
	for _, secret := range secrets {
		if strings.Contains(last, secret) {
			t.Errorf("%s: %s", name, last)
		}
	}
	if strings.Count(last, "<redacted:") != len(secrets) {
		t.Errorf("%s: %s", name, last)
	}
}

// TestAKeyGoesOnAcrossDrains: its header and first line are one token by the
// time the rest of it comes.
func TestAKeyGoesOnAcrossDrains(t *testing.T) {
	tape, err := Create(filepath.Join(t.TempDir(), "session.db"), Start{Started: time.Now(), Argv: []string{"agent"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tape.remove)
	line := strings.Repeat("MIIE", 16)
	delta := func(text string) { appendTo(t, tape, store.Out, fmt.Sprintf("{\"delta\":%q}\n", text)) }
	delta("-----BEGIN PRIVATE KEY-----\n" + line)
	db := openStore(t, tape.db)
	d := begin(t, tape, db)
	if err := d.drainAll(t.Context(), tape.length.Load()); err != nil {
		t.Fatal(err)
	}
	db.Close()
	delta("\n" + line)
	delta("\nQUJD\n-----END PRIVATE KEY-----\n")
	delta("QUJDRA")
	db = openStore(t, tape.db)
	d = begin(t, tape, db)
	if err := d.drainAll(t.Context(), tape.length.Load()); err != nil {
		t.Fatal(err)
	}
	_, got := frames(t, db)
	for i, f := range got {
		if strings.Contains(f.raw, "MIIE") || strings.Contains(f.raw, "QUJD\\n") {
			t.Errorf("frame %d: %s", i+1, f.raw)
		}
	}
	if len(got) != 4 || got[3].raw != `{"delta":"QUJDRA"}` {
		t.Errorf("frames %+v", got)
	}
}

// TestWhatIsMissingIsSaidOnceAcrossDrains: bytes that were lost, and damage of
// the tape, before one drain ended are neither forgotten nor told twice by the
// next.
func TestWhatIsMissingIsSaidOnceAcrossDrains(t *testing.T) {
	tape := create(t)
	appendTo(t, tape, store.Out, "one\n")
	tape.limit.Store(tape.end)
	if err := tape.Append(store.Out, []byte("lost\n")); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	tape.Measure()
	appendTo(t, tape, store.Out, "two\n")
	from := tape.length.Load()
	appendTo(t, tape, store.Out, "damaged\n")
	to := tape.length.Load()
	appendTo(t, tape, store.Out, "three\n")
	if f, err := os.OpenFile(tape.path, os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	} else if _, err := f.WriteAt([]byte{'?'}, from+recordSize); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	db := openStore(t, tape.db)
	d := begin(t, tape, db)
	if err := d.drainAll(t.Context(), tape.length.Load()); err != nil {
		t.Fatal(err)
	}
	db.Close()
	appendTo(t, tape, store.Out, "four\n")
	end := tape.Finish(&store.Exit{})
	db = openStore(t, tape.db)
	d = begin(t, tape, db)
	if err := d.drainAll(t.Context(), tape.length.Load()); err != nil {
		t.Fatal(err)
	}
	if err := d.close(t.Context(), &end, ""); err != nil {
		t.Fatal(err)
	}
	s, got := frames(t, db)
	if len(got) != 4 {
		t.Errorf("frames %+v", got)
	}
	if want := fmt.Sprintf("its tape is damaged at byte %d: %d bytes cannot be read", from, to-from); s.State != store.Cut || s.Reason != want {
		t.Errorf("%s: %s, want %s", s.State, s.Reason, want)
	}
	events, err := s.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost := slices.DeleteFunc(events, func(e store.Event) bool { return e.Kind != store.EventLost })
	if len(lost) != 1 || lost[0].Bytes != int64(len("lost\n")) {
		t.Errorf("lost: %+v", lost)
	}
}

// TestNothingOfASessionIsStoredInClear: people put secrets into names, tags and
// folders, too.
func TestNothingOfASessionIsStoredInClear(t *testing.T) {
	const key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	tape, err := Create(filepath.Join(t.TempDir(), "session.db"), Start{
		Started: time.Now(), Argv: []string{"agent"}, Name: "run " + key, Tags: map[string]string{"k": key}, Cwd: "/projects/" + key, Folders: map[string]string{"home": "/h/" + key},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tape.remove)
	tape.Event(store.Event{Kind: store.EventStart, Detail: "in front of http://h/" + key})
	db := openStore(t, tape.db)
	d := begin(t, tape, db)
	if err := d.drainAll(t.Context(), tape.length.Load()); err != nil {
		t.Fatal(err)
	}
	s, _ := frames(t, db)
	events, err := s.Events(t.Context())
	if err != nil || len(events) != 1 {
		t.Fatal(events, err)
	}
	for what, text := range map[string]string{"name": s.Name, "tag": s.Tags["k"], "cwd": s.Cwd, "folder": s.Folders["home"], "event": events[0].Detail} {
		if strings.Contains(text, key) || !strings.Contains(text, "<redacted:github:") {
			t.Errorf("%s: %s", what, text)
		}
	}
}
