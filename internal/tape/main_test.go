package tape

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"agentrec/store"

	"go.uber.org/goleak"
)

// TestMain also makes the test binary a recorder of exchanges, with the
// database in AGENTREC_TEST_EXCHANGES.
func TestMain(m *testing.M) {
	if db := os.Getenv("AGENTREC_TEST_EXCHANGES"); db != "" {
		if err := recordExchanges(db); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// pieceOf is what the n-th piece of the i-th exchange holds.
func pieceOf(i, n int) []byte {
	return fmt.Appendf(nil, "data: exchange %d piece %d %s\n\n", i, n, strings.Repeat("x", i*n%500))
}

// recordExchanges is a recorder that tells of four exchanges at a time until it is
// killed, and prints of each piece that it is on the tape.
func recordExchanges(db string) error {
	t, err := Create(db, Start{Started: time.Now(), Argv: []string{"agent"}})
	if err != nil {
		return err
	}
	go t.Follower().Run(context.Background())
	type telling struct{ i, n int }
	open := map[*Exchange]*telling{}
	for i := 0; ; {
		for len(open) < 4 {
			x := t.Exchange(Request{store.RouteDirect, "HTTP/1.1", "POST", fmt.Sprintf("http://h/%d", i), nil, nil})
			x.Body([]byte("asked"))
			x.Answer(200, nil)
			open[x] = &telling{i: i}
			i++
		}
		for x, at := range open {
			x.Piece(pieceOf(at.i, at.n))
			fmt.Println(at.i, at.n)
			if at.n++; at.n > 20+at.i%60 {
				x.End(store.Done, nil, "")
				delete(open, x)
			}
		}
	}
}

// kill leaves a tape as kill -9 would: its lock is free, nothing else happens.
func kill(t testing.TB, tape *Tape) {
	t.Helper()
	tape.dead.Store(true)
	tape.file.Close()
}
