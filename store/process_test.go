package store

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recorder is this test binary in a role of TestMain.
func recorder(t *testing.T, role, db string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), "AGENTREC_TEST_RECORDER="+role, "AGENTREC_TEST_DB="+db)
	return cmd
}

func TestManyProcessesStartOnOneNewDatabase(t *testing.T) {
	many := []int{8, 8, 8, 8, 30}
	for round, n := range many {
		path := filepath.Join(t.TempDir(), "a.db")
		cmds := make([]*exec.Cmd, n)
		outs := make([]bytes.Buffer, n)
		for i := range cmds {
			cmds[i] = recorder(t, "short", path)
			cmds[i].Stderr = &outs[i]
			if err := cmds[i].Start(); err != nil {
				t.Fatal(err)
			}
		}
		for i, cmd := range cmds {
			if err := cmd.Wait(); err != nil {
				t.Errorf("round %d: %v: %s", round, err, outs[i].Bytes())
			}
		}
		db := openRead(t, path)
		list, err := db.Sessions(t.Context())
		if err != nil || len(list) != n {
			t.Fatalf("round %d: %d sessions, want %d, %v", round, len(list), n, err)
		}
		for _, s := range list {
			if got, err := Verify(t.Context(), s); err != nil || got.Verdict != Whole || got.Frames != 100 {
				t.Errorf("round %d: session %d: %+v, %v", round, s.ID, got, err)
			}
		}
		db.Close()
		if names := besides(t, path); len(names) > 0 {
			t.Errorf("round %d: %v are left", round, names)
		}
	}
}

// A recorder that is killed again and again stores every frame exactly once.
func TestKilledRecorderResumesExactlyOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := openDB(t, path)
	begin(t, db, Start{UID: endlessUID})
	db.Close()
	for range 5 {
		cmd := recorder(t, "endless", path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		if line != "resumed\n" {
			cmd.Wait()
			t.Fatalf("the recorder says %q, %s", line, stderr.Bytes())
		}
		time.Sleep(time.Duration(rand.IntN(250)) * time.Millisecond) // when it is killed decides nothing
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		endlessHolds(t, openRead(t, path))
	}
	db = openDB(t, path)
	w, checkpoint, err := db.Resume(t.Context(), endlessUID)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprint(w.seq); string(checkpoint) != want {
		t.Errorf("the checkpoint is %s, the last frame %s", checkpoint, want)
	}
	closeWriter(t, w)
	if n := endlessHolds(t, db); n < 5 {
		t.Errorf("only %d frames", n)
	}
}

func endlessHolds(t *testing.T, db *DB) int64 {
	t.Helper()
	s, err := db.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for f, err := range s.Frames(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		stream, raw := endless(n)
		if f.Seq != n || f.Stream != stream || !bytes.Equal(f.Raw, raw) {
			t.Fatalf("frame %d is %s %.40q, want %s %.40q", f.Seq, f.Stream, f.Raw, stream, raw)
		}
	}
	if n != s.Count() {
		t.Fatalf("%d frames, the session counts %d", n, s.Count())
	}
	if got, err := Verify(t.Context(), s); err != nil || got.Verdict == Damaged {
		t.Fatalf("%+v, %v", got, err)
	}
	return n
}

// A reader beside a writer sees a session that only grows, whole at any time.
func TestReaderBesideWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := openDB(t, path)
	begin(t, db, Start{UID: endlessUID})
	cmd := recorder(t, "endless", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the recorder says %q, %v", line, err)
	}
	read := openRead(t, path)
	last := int64(0)
	for last < 20_000 {
		n := endlessHoldsLive(t, read)
		if n < last {
			t.Errorf("%d frames, before %d", n, last)
		}
		last = n
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
}

// endlessHoldsLive reads what is there, which may be more than a session read
// before tells.
func endlessHoldsLive(t *testing.T, db *DB) int64 {
	t.Helper()
	s, err := db.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for f, err := range s.Frames(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if _, raw := endless(n); f.Seq != n || !bytes.Equal(f.Raw, raw) {
			t.Fatalf("frame %d differs", f.Seq)
		}
		if n > 30_000 {
			break
		}
	}
	if n < min(s.Count(), 30_000) {
		t.Fatalf("%d frames, the session counts %d", n, s.Count())
	}
	if got, err := Verify(t.Context(), s); err != nil || got.Verdict != StillRecording {
		t.Fatalf("%+v, %v", got, err)
	}
	return n
}

// modernc.org/libc must be the one that modernc.org/sqlite was made with: they
// share memory layouts.
func TestLibcIsTheOneSQLiteWants(t *testing.T) {
	want := ""
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.GoMod}}", "modernc.org/sqlite").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{strings.TrimSpace(string(out)), filepath.Join("..", "go.mod")} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for line := range strings.Lines(string(b)) {
			fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
			if len(fields) >= 2 && fields[0] == "modernc.org/libc" {
				got = fields[1]
			}
		}
		if got == "" || want != "" && got != want {
			t.Errorf("%s requires modernc.org/libc %q, want %q", file, got, want)
		}
		want = got
	}
}
