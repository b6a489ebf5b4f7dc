//go:build unix

package record_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"

	_ "modernc.org/sqlite"
)

// interactive starts a proxied echo and returns a function that sends a line
// through it and wants it back, and one that ends it and returns stderr.
func interactive(t *testing.T, cmd *exec.Cmd) (turn func(line string), end func() string) {
	t.Helper()
	in, out := piped(t, cmd)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	turn = func(line string) {
		t.Helper()
		if _, err := in.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(line))
		for n := 0; n < len(got); {
			m, err := out.Read(got[n:])
			if err != nil {
				t.Fatal(err)
			}
			n += m
		}
		if string(got) != line {
			t.Fatalf("sent %q, got %q", line, got)
		}
	}
	end = func() string {
		t.Helper()
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		return strings.ReplaceAll(stderr.String(), "echo saw the end\n", "")
	}
	return turn, end
}

func TestALockedDatabaseStopsNothing(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	opened, err := store.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	opened.Close()
	other, err := sql.Open("sqlite", "file:"+db+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	lock, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	turn, end := interactive(t, proxied(t, db, "echo"))
	var want strings.Builder
	for i := range 2000 {
		line := fmt.Sprintf("{\"n\":%d}\n", i)
		want.WriteString(line)
		turn(line)
	}
	if said := end(); said != "" { // nothing is lost
		t.Errorf("stderr %q", said)
	}
	lock.Rollback()
	taken, err := tape.OpenWrite(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s, err := taken.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := wire(t, s, store.Out); string(got) != want.String() {
		t.Errorf("recorded %d bytes, want %d", len(got), want.Len())
	}
	if s.State != store.Closed || s.Exit == nil {
		t.Errorf("state %s %s, exit %v", s.State, s.Reason, s.Exit)
	}
	leftOvers(t, db)
}

func TestTheDatabaseIsDeletedUnderUs(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	turn, end := interactive(t, proxied(t, db, "echo"))
	turn("before\n")
	for range 200 { // until the recorder has opened it
		if s, err := os.Stat(db + "-wal"); err == nil && s.Size() > 0 {
			break
		}
		turn("waiting\n")
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		os.Remove(db + suffix)
	}
	turn("after\n")
	if said := end(); said != "" {
		t.Errorf("stderr %q", said)
	}
	got := string(wire(t, only(t, db), store.In))
	if !strings.HasPrefix(got, "before\n") || !strings.HasSuffix(got, "after\n") {
		t.Errorf("recorded %q", got)
	}
	leftOvers(t, db)
}

// stored is how many frames the sessions of a database hold itself, without what
// is on tapes; 0 as long as there is none.
func stored(t *testing.T, db string) (n int64) {
	t.Helper()
	opened, err := store.OpenRead(t.Context(), db)
	if err != nil {
		return 0
	}
	defer opened.Close()
	list, err := opened.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		n += s.Count()
	}
	return n
}

// TestTheDatabaseIsReplaced by another one, while the log of the first still
// stands beside it: what the other one holds is not touched, and the session
// goes into it, with traffic or without.
func TestTheDatabaseIsReplaced(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		dir := t.TempDir()
		db, other := filepath.Join(dir, "session.db"), filepath.Join(dir, "other.db")
		for range 3 {
			turn, end := interactive(t, proxied(t, other, "echo"))
			turn(strings.Repeat("earlier ", 2000) + "\n")
			end()
		}
		turn, end := interactive(t, proxied(t, db, "echo"))
		turn("before\n")
		for range 1000 { // until the recorder has stored it
			if stored(t, db) > 0 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if err := os.Rename(other, db); err != nil {
			t.Fatal(err)
		}
		count := func() int {
			opened, err := tape.Open(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			list, err := opened.Sessions(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		if quiet {
			for range 500 { // it looks by itself, about once a second
				if count() == 4 {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
		} else {
			turn("after\n")
		}
		if said := end(); said != "" {
			t.Errorf("quiet %v: stderr %q", quiet, said)
		}
		opened, err := tape.OpenWrite(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		list, err := opened.Sessions(t.Context())
		if err != nil || len(list) != 4 {
			t.Fatalf("quiet %v: %d sessions (%v), want 4", quiet, len(list), err)
		}
		for i, s := range list {
			got, err := store.Verify(t.Context(), s)
			if err != nil || got.Verdict != store.Whole {
				t.Errorf("quiet %v: session %d: %+v (%v)", quiet, s.ID, got, err)
			}
			if want := "before\nafter\n"; i == 3 && !quiet && string(wire(t, s, store.In)) != want {
				t.Errorf("recorded %q, want %q", wire(t, s, store.In), want)
			}
		}
		opened.Close()
		leftOvers(t, db)
	}
}

// TestNoRoomOnTheDisk lets no file grow beyond a few blocks.
func TestNoRoomOnTheDisk(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f 64; exec "$@"`, "sh", agentrec(t), "proxy", "--db", db, self)
	cmd.Env = append(os.Environ(), agentMode+"=echo")
	turn, end := interactive(t, cmd)
	line := strings.Repeat("x", 1023) + "\n"
	for range 500 {
		turn(line)
	}
	said := end()
	if !strings.Contains(said, "forwarding goes on") || strings.Count(said, "\n") != 1 {
		t.Errorf("stderr %q", said)
	}
	taken, err := tape.OpenWrite(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s, err := taken.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if s.State != store.Cut || s.Count() == 0 {
		t.Errorf("state %s (%s), %d frames", s.State, s.Reason, s.Count())
	}
	for f, err := range s.Frames(t.Context(), 1, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Stream != store.Err && string(f.Raw)+"\n" != line {
			t.Errorf("frame %d: %d bytes", f.Seq, len(f.Raw))
		}
	}
}

// TestNoRoomAndNobodyReadsStderr: the line about it waits, nothing else does.
func TestNoRoomAndNobodyReadsStderr(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.SetWriteDeadline(time.Now().Add(time.Second))
	for err == nil { // until it is full
		_, err = w.Write(make([]byte, 4096))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -f 64; exec "$@"`, "sh", agentrec(t), "proxy", "--db", db, self)
	cmd.Env = append(os.Environ(), agentMode+"=quiet")
	cmd.Stderr = w
	in, out := piped(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	line := strings.Repeat("x", 1023) + "\n"
	got := make([]byte, len(line))
	for range 500 {
		if _, err := io.WriteString(in, line); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, got); err != nil || string(got) != line {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestNoRoomForATape starts the agent all the same.
func TestNoRoomForATape(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f 0; exec "$@"`, "sh", agentrec(t), "proxy", "--db", db, self, "6")
	cmd.Env = append(os.Environ(), agentMode+"=echo")
	cmd.Stdin = strings.NewReader(hard)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, _ := cmd.Output()
	if string(out) != hard || cmd.ProcessState.ExitCode() != 6 {
		t.Errorf("%q, %v", out, cmd.ProcessState)
	}
	if want := "agentrec: nothing is recorded into " + db + ": file too large; forwarding goes on\necho saw the end\n"; stderr.String() != want {
		t.Errorf("stderr %q, want %q", stderr.String(), want)
	}
	if left, _ := filepath.Glob(db + "*"); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestManyRecordersAtOnce(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	const recorders = 50
	var all sync.WaitGroup
	for i := range recorders {
		all.Go(func() {
			cmd := proxied(t, db, "echo")
			cmd.Stdin = strings.NewReader(fmt.Sprintf("{\"recorder\":%d}\n", i))
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil || string(out) != fmt.Sprintf("{\"recorder\":%d}\n", i) || stderr.String() != "echo saw the end\n" {
				t.Errorf("recorder %d: %q, %q, %v", i, out, stderr.String(), err)
			}
		})
	}
	all.Wait()
	taken, err := tape.OpenWrite(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	list, err := taken.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range list {
		in := string(wire(t, s, store.In))
		if s.State != store.Closed || seen[in] || in != string(wire(t, s, store.Out)) {
			t.Errorf("session %d: %s, %q", s.ID, s.State, in)
		}
		seen[in] = true
	}
	if len(list) != recorders {
		t.Errorf("%d sessions of %d", len(list), recorders)
	}
	leftOvers(t, db)
}

func TestOneProcessor(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	cmd := proxied(t, db, "echo")
	cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
	turn, end := interactive(t, cmd)
	for i := range 3000 {
		turn(fmt.Sprintf("{\"n\":%d}\n", i))
	}
	if said := end(); said != "" {
		t.Errorf("stderr %q", said)
	}
	if s := only(t, db); s.Chains[store.In].Frames != 3000 || s.State != store.Closed {
		t.Errorf("%s, %d frames", s.State, s.Chains[store.In].Frames)
	}
}

// TestALinkToTheDatabase: recorders that know it by another name share it.
func TestALinkToTheDatabase(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "real", "session.db")
	if err := os.Mkdir(filepath.Dir(db), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.db")
	opened, err := store.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	opened.Close()
	if err := os.Symlink(db, link); err != nil {
		t.Fatal(err)
	}
	turn, end := interactive(t, proxied(t, link, "echo"))
	turn("x\n")
	if beside, _ := filepath.Glob(db + "-tape-*"); len(beside) != 1 {
		t.Errorf("tapes beside the database: %v", beside)
	}
	if said := end(); said != "" {
		t.Errorf("stderr %q", said)
	}
	if got := wire(t, only(t, db), store.In); string(got) != "x\n" {
		t.Errorf("recorded %q", got)
	}
}
