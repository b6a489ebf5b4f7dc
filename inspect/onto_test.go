package inspect

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentrec/internal/dialect"
	"agentrec/internal/tape"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// acp is a short ACP conversation whose ids, session and times are given: what
// a second recording of the same conversation has anew.
func acp(session string, firstID int, extra ...step) []step {
	id := firstID
	next := func() int { id++; return id - 1 }
	steps := []step{
		{store.In, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":1}}`, id)},
		{store.Out, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"protocolVersion":1,"agentCapabilities":{}}}`, next())},
	}
	for _, e := range extra {
		steps = append(steps, step{e.stream, fmt.Sprintf(e.raw, id)})
		if e.stream == store.Out {
			next()
		}
	}
	return append(steps, []step{
		{store.In, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/new","params":{"cwd":"/p","mcpServers":[]}}`, id)},
		{store.Out, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"sessionId":%q}}`, next(), session)},
		{store.In, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"hi"}]}}`, id, session)},
		{store.Out, fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"}}}}`, session)},
		{store.Out, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"end_turn"}}`, next())},
	}...)
}

func exported(t *testing.T, file, onto string) string {
	t.Helper()
	var b bytes.Buffer
	if err := export(t.Context(), exportOptions{File: file, Onto: onto, Out: &b}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func save(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "old.agentrec")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// differing returns the lines of b that are not in a, the header aside.
func differing(a, b string) []string {
	have := map[string]int{}
	for l := range strings.SplitSeq(a, "\n") {
		have[l]++
	}
	var out []string
	for i, l := range strings.Split(b, "\n") {
		if have[l]--; have[l] < 0 && i > 0 {
			out = append(out, l)
		}
	}
	return out
}

func TestOntoKeepsLinesThatSayTheSame(t *testing.T) {
	old := exported(t, record(t, "demo", acp("s-one", 0)), "")
	again := record(t, "demo", acp("s-two", 7))
	if d := differing(old, exported(t, again, save(t, old))); len(d) > 0 {
		t.Errorf("lines changed without a change in what they say:\n%s", strings.Join(d, "\n"))
	}
	if d := differing(old, exported(t, again, "")); len(d) < 5 {
		t.Errorf("only %d lines differ without --onto: the test proves nothing", len(d))
	}
}

func TestOntoWritesWhatIsNew(t *testing.T) {
	old := exported(t, record(t, "demo", acp("s-one", 0)), "")
	again := record(t, "demo", acp("s-two", 0,
		step{store.In, `{"jsonrpc":"2.0","id":%d,"method":"authenticate","params":{"methodId":"x"}}`},
		step{store.Out, `{"jsonrpc":"2.0","id":%d,"result":{}}`}))
	laid := exported(t, again, save(t, old))
	d := differing(old, laid)
	if len(d) != 3 || !strings.Contains(d[0], `"authenticate"`) || !strings.Contains(d[2], `"proof"`) {
		t.Fatalf("want the new request, its response and the proof, got:\n%s", strings.Join(d, "\n"))
	}
	// The new request's id is free, and every response finds its request.
	db, err := tape.Open(t.Context(), save(t, laid))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := db.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := transcript.Build(context.Background(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if open := tr.Open(); len(open) > 0 {
		t.Errorf("requests without response: %v", open)
	}
	for _, e := range tr.Entries {
		if e.Role == dialect.Response && e.Pair == 0 {
			t.Error("a response has lost its request")
		}
	}
}

func TestOntoChangedText(t *testing.T) {
	steps := acp("s-one", 0)
	old := exported(t, record(t, "demo", steps), "")
	steps[5].raw = strings.Replace(steps[5].raw, "hello", "good day", 1)
	d := differing(old, exported(t, record(t, "demo", steps), save(t, old)))
	if len(d) != 2 || !strings.Contains(d[0], "good day") {
		t.Errorf("want the changed line and the proof, got:\n%s", strings.Join(d, "\n"))
	}
}

func TestOntoNothingInCommon(t *testing.T) {
	old := exported(t, record(t, "demo", phiSteps), "")
	fresh := record(t, "demo", acp("s", 0))
	plain := exported(t, fresh, "")
	if got := exported(t, fresh, save(t, old)); len(differing(plain, got)) > 2 {
		t.Errorf("got:\n%s\nwant:\n%s", got, plain)
	}
}

// Which of two streams ends first is an accident of timing.
func TestOntoKeepsTheOrderOfEvents(t *testing.T) {
	lines := strings.SplitAfter(exported(t, record(t, "demo", acp("s-one", 0)), ""), "\n")
	with := func(events ...string) string {
		at := len(lines) - 2 // before the proof and the empty rest
		return strings.Join(slices.Concat(lines[:at], events, lines[at:]), "")
	}
	out, err := `["event", 5, {"kind":"eof","stream":"out"}]`+"\n", `["event", 7, {"kind":"eof","stream":"err"}]`+"\n"
	old, again := with(out, err), with(err, out)
	if got := exported(t, save(t, again), save(t, old)); !strings.Contains(got, out+err) {
		t.Errorf("the events changed places:\n%s", strings.Join(differing(old, got), "\n"))
	}
}
