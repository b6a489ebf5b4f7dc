package inspect

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agentrec/store"

	"go.uber.org/goleak"
)

// TestMain keeps what is kept of sessions in a cache directory of the tests' own.
func TestMain(m *testing.M) {
	cache, err := os.MkdirTemp("", "agentrec-cache-*")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		if err := os.Setenv(name, cache); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		os.RemoveAll(cache)
		os.Exit(status)
	}))
}

// step is a frame of a session made for a test.
type step struct {
	stream store.Stream
	raw    string
}

// phiSteps is a short phi conversation: two turns, a call, deltas, an error.
var phiSteps = []step{
	{store.Out, `{"type":"hello","protocol_version":1,"server_name":"phi-agent","server_version":"0.3.0"}`},
	{store.In, `{"type":"create_session","session_id":"demo"}`},
	{store.Out, `{"type":"session_created","session_id":"demo","internal_id":1}`},
	{store.In, `{"type":"run","session_id":"demo","query":"Say hello"}`},
	{store.Out, `{"type":"event","seq":1,"runtimeEventType":"textDelta","session_id":{"external_id":null,"id":2},"text":"Hello, "}`},
	{store.Out, `{"type":"event","seq":2,"runtimeEventType":"textDelta","session_id":{"external_id":null,"id":2},"text":"ready."}`},
	{store.Out, `{"type":"done","seq":3,"outcome":"completed"}`},
	{store.Err, "a warning on stderr"},
	{store.In, `{"type":"run","session_id":"demo","query":"Weather in Oslo?"}`},
	{store.Out, `{"type":"tool_call","seq":4,"call_id":"call_1","name":"get_weather","args":{"city":"Oslo"}}`},
	{store.In, `{"type":"tool_result","call_id":"call_1","summary":"Oslo: 4 °C"}`},
	{store.Out, `{"type":"event","seq":5,"runtimeEventType":"textDelta","session_id":{"external_id":null,"id":2},"text":"It is 4 °C."}`},
	{store.Out, `{"type":"done","seq":6,"outcome":"completed"}`},
}

// record makes a database with one closed session of these frames, 1 ms apart.
func record(t testing.TB, name string, steps []step) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.db")
	recordInto(t, path, name, steps)
	return path
}

func recordInto(t testing.TB, path, name string, steps []step) {
	t.Helper()
	ctx := context.Background()
	db, err := store.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w, err := db.Begin(ctx, store.Start{Name: name, Started: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Argv: []string{"phi", "serve"}})
	if err != nil {
		t.Fatal(err)
	}
	w.Event(store.Event{Kind: store.EventStart})
	at := time.Duration(0)
	for _, s := range steps {
		at += time.Millisecond
		w.Frame(s.stream, at, []byte(s.raw), store.LF)
	}
	exit := store.Exit{}
	w.Event(store.Event{Kind: store.EventExit, Time: at, Exit: &exit})
	if err := w.Close(ctx, store.End{State: store.Closed, Ended: at, Exit: &exit, Wire: [store.Streams]int64{-1, -1, -1}}); err != nil {
		t.Fatal(err)
	}
}
