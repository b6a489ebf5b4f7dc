package replay

import (
	"context"
	"testing"
	"time"

	"agentrec/store"
)

// sessionsIn stores several sessions in one database.
func sessionsIn(t testing.TB, dialect string, sessions ...[]string) string {
	t.Helper()
	path := recordLines(t, dialect, sessions[0]...)
	db, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, lines := range sessions[1:] {
		other := recordLines(t, dialect, lines...)
		from, err := store.OpenRead(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		s, err := from.Find(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		w, err := db.Begin(t.Context(), store.Start{Started: time.Unix(1, 0), Dialect: dialect})
		if err != nil {
			t.Fatal(err)
		}
		for f, err := range s.Frames(context.Background(), 1, 0) {
			if err != nil {
				t.Fatal(err)
			}
			w.Frame(f.Stream, f.Time, f.Raw, f.Term)
		}
		if err := w.Commit(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(t.Context(), store.End{State: store.Closed, Wire: [store.Streams]int64{-1, -1, -1}}); err != nil {
			t.Fatal(err)
		}
		from.Close()
	}
	return path
}

// A client that starts a probe and then the real agent gets, each time, the
// session that begins like it; what all agents say unasked comes first.
func TestSessionAny(t *testing.T) {
	hello := `out {"type":"hello","protocol_version":1,"server_name":"a","server_version":"1"}`
	file := sessionsIn(t, "phi",
		[]string{hello, `in {"type":"list_tools"}`, `out {"type":"tools_listed","tools":[]}`},
		[]string{hello, `in {"type":"create_session","session_id":"one"}`, `out {"type":"session_created","session_id":"one","internal_id":1}`},
		[]string{hello, `in {"type":"create_session","session_id":"two"}`, `out {"type":"session_created","session_id":"two","internal_id":2}`},
	)
	for send, want := range map[string]string{
		`{"type":"list_tools"}`:                          `{"type":"tools_listed","tools":[]}`,
		`{"type":"create_session","session_id":"two"}`:   `{"type":"session_created","session_id":"two","internal_id":2}`,
		`{"type":"create_session","session_id":"three"}`: `{"type":"session_created","session_id":"three","internal_id":1}`,
	} {
		c := startReplay(t, Options{File: file, Session: AnySession})
		c.want(hello[4:])
		c.send(send)
		c.want(want)
		if rest, err := c.close(); err != nil || len(rest) > 0 {
			t.Errorf("%s: left with %v, unread %q\n%s", send, err, rest, c.side)
		}
	}
	c := startReplay(t, Options{File: file})
	if _, err := c.close(); err == nil {
		t.Error("several sessions and none named: no error")
	}
}
