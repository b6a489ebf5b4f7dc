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
// database in AGENTREC_TEST_TALKS.
func TestMain(m *testing.M) {
	if db := os.Getenv("AGENTREC_TEST_TALKS"); db != "" {
		if err := recordTalks(db); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// talkative is what the n-th piece of the i-th exchange holds.
func talkative(i, n int) []byte {
	return fmt.Appendf(nil, "data: exchange %d piece %d %s\n\n", i, n, strings.Repeat("x", i*n%500))
}

// recordTalks is a recorder that tells of four exchanges at a time until it is
// killed, and prints of each piece that it is on the tape.
func recordTalks(db string) error {
	t, err := Create(db, Start{Started: time.Now(), Argv: []string{"agent"}})
	if err != nil {
		return err
	}
	go t.Follower().Run(context.Background())
	type talk struct{ i, n int }
	open := map[*Exchange]*talk{}
	for i := 0; ; {
		for len(open) < 4 {
			x := t.Exchange(Request{store.RouteDirect, "HTTP/1.1", "POST", fmt.Sprintf("http://h/%d", i), nil})
			x.Body([]byte("asked"))
			x.Answer(200, nil)
			open[x] = &talk{i: i}
			i++
		}
		for x, at := range open {
			x.Piece(talkative(at.i, at.n))
			fmt.Println(at.i, at.n)
			if at.n++; at.n > 20+at.i%60 {
				x.End(store.Done, nil, "")
				delete(open, x)
			}
		}
	}
}
