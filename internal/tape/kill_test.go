//go:build linux

package tape

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"agentrec/store"
)

// TestExchangesSurviveAKill kills recorders in the midst of exchanges: all that
// was told before stands in the session once, read in place or taken over.
func TestExchangesSurviveAKill(t *testing.T) {
	if keyless() {
		t.Log("no file system in memory: a tape cannot be taken over here")
		return
	}
	for range 4 {
		path := filepath.Join(t.TempDir(), "session.db")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "AGENTREC_TEST_EXCHANGES="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := 500 + rand.IntN(20_000)
		told := map[int]int{} // pieces known to be on the tape
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			var i, piece int
			if _, err := fmt.Sscan(lines.Text(), &i, &piece); err == nil {
				told[i] = piece + 1
			}
			if n == kill {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		look := func(name string, open func(context.Context, string) (*store.DB, error)) {
			t.Helper()
			db, err := open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			s, err := db.Find(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := store.Verify(t.Context(), s); err != nil || got.Verdict != store.IsCut || got.Exchanges < int64(len(told)) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			cut := 0
			for x, err := range s.Exchanges(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				i := int(x.Number) - 1
				if len(x.Pieces) < told[i] {
					t.Errorf("%s: exchange %d has %d pieces, %d were told", name, x.Number, len(x.Pieces), told[i])
				}
				for n, p := range x.Pieces {
					if string(p.Bytes) != string(pieceOf(i, n)) {
						t.Fatalf("%s: piece %d of exchange %d is %q", name, n, x.Number, p.Bytes)
					}
				}
				switch x.End {
				case store.CutShort:
					cut++
				case store.Done:
					if len(x.Pieces) != 21+i%60 {
						t.Errorf("%s: exchange %d is done with %d pieces", name, x.Number, len(x.Pieces))
					}
				default:
					t.Errorf("%s: exchange %d ends %q", name, x.Number, x.End)
				}
			}
			if cut > 4 {
				t.Errorf("%s: %d exchanges are cut, 4 were open", name, cut)
			}
		}
		look("read in place", Open)
		look("taken over", OpenWrite)
		look("read after that", Open)
		if left := names(t, filepath.Dir(path)); len(left) != 1 {
			t.Errorf("%v are left", left)
		}
	}
}

// keyless reports whether there is nowhere to keep a key.
func keyless() bool {
	for _, dir := range keyDirs() {
		if inRAM(dir) {
			return false
		}
	}
	return true
}
