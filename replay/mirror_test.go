package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"agentrec/internal/dialect"
	"agentrec/internal/tape"
	"agentrec/store"
)

// newTestMirror makes a mirror of recorded lines.
func newTestMirror(t testing.TB, dialectName string, lines []string) *mirror {
	t.Helper()
	ctx := context.Background()
	db, err := tape.Open(ctx, recordLines(t, dialectName, lines...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	session, err := db.Find(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	d, err := dialect.Load(dialectName)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMirror(ctx, session, d, 0)
	if err != nil {
		t.Fatal(err)
	}
	data := newPayloads(ctx, session)
	m.fetch = func(i int32) []byte {
		raw, err := data.text(int64(m.s.items[i].seq))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	return m
}

// renumbered is how a live agent names what the recorded one has named
// otherwise: requests by strings, conversations by another word.
func renumbered(line string) string {
	f := parseFrame(line)
	if f["method"] != nil && f["id"] != nil {
		id, err := json.Marshal(f["id"])
		if err != nil {
			panic(err)
		}
		f["id"] = "q-" + string(id)
		line = text(f)
	}
	return strings.ReplaceAll(line, `"sess-`, `"live-`)
}

// recordedAgain is what the recorded agent would have been sent.
func recordedAgain(line string) string {
	line = strings.ReplaceAll(line, `"live-`, `"sess-`)
	f := parseFrame(line)
	if id, ok := f["id"].(string); ok && f["method"] == nil {
		if n, ok := strings.CutPrefix(id, "q-"); ok {
			f["id"] = json.RawMessage(n)
			return text(f)
		}
	}
	return line
}

// TestMirror plays generated recordings to an agent that does just what the
// recorded one did, the replay of the same recording, with other ids: all the
// client's frames must come, each after its causes, and nothing else. The
// agent's frames that no order is known of come in another one.
func TestMirror(t *testing.T) {
	for name, generate := range map[string]func(uint64) (*generated, func(variant) simClient){"acp": generateACP, "mcp": generateMCP, "pi": generatePi} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(*seeds) {
				g, _ := generate(seed)
				if problem := playMirror(t, g, seed); problem != "" {
					t.Fatalf("seed %d: %s\n%s", seed, problem, numbered(g.lines))
				}
			}
		})
	}
}

func playMirror(t *testing.T, g *generated, seed uint64) string {
	var log []string
	agent := newMemory(t, g.dialect, matching{}, g.lines)
	client := newTestMirror(t, g.dialect, g.lines)
	problem := ""
	client.report = func(n Entry) { problem += n.Kind + ": " + n.Message + "\n" }
	rng := rand.New(rand.NewPCG(seed, 3))
	type flying struct {
		line string
		item int32
	}
	var wire []flying // what the agent sent and the client has not read yet
	fly := func(out []outgoing) {
		for i, line := range agent.lines(out) {
			wire = append(wire, flying{line, out[i].item})
		}
	}
	came := map[int32]bool{} // frames of the agent, by seq
	sent := 0
	send := func(list []sending) {
		for _, s := range list {
			if s.end {
				continue
			}
			sent++
			line := string(s.raw)
			log = append(log, "> "+line)
			it := client.s.items[s.item]
			answer := it.role == dialect.Response && it.pair != 0
			if strings.Contains(line, `"sess-`) || answer && !strings.Contains(line, `"id":"q-`) {
				problem += "a recorded id of the agent was sent: " + line + "\n"
			}
			for i := range client.s.items {
				before := &client.s.items[i]
				due := before.stream == store.Out && before.flags&fX == 0 && before.seq < it.seq && !answer || answer && int32(i) == it.pair
				if i > 0 && due && !came[before.seq] {
					problem += fmt.Sprintf("frame %d was sent before frame %d came\n", it.seq, before.seq)
				}
			}
			fly(agent.e.frame([]byte(recordedAgain(line))))
		}
	}
	fly(agent.e.start())
	send(client.start())
	for len(wire) > 0 {
		n := 0
		if g.dialect == "mcp" && rng.IntN(3) == 0 { // a server's answers may overtake each other
			n = rng.IntN(len(wire))
		}
		line := renumbered(wire[n].line)
		if i := wire[n].item; i != 0 {
			came[agent.s.items[i].seq] = true
		}
		wire = slices.Delete(wire, n, n+1)
		log = append(log, "< "+line)
		send(client.frame([]byte(line)))
	}
	if !client.over() {
		what, _ := client.stuck()
		problem += "not all was sent; it waits for " + what + "\n"
	}
	agent.e.eof()
	agent.v.close(agent.e, false)
	agent.v.notes = nil
	if k := agent.kinds(); k != "" {
		problem += "the agent says: " + k + "\n"
	}
	want := 0
	for _, l := range g.lines {
		if strings.HasPrefix(l, "in ") {
			want++
		}
	}
	if sent != want {
		problem += fmt.Sprintf("%d of %d frames were sent\n", sent, want)
	}
	if problem == "" {
		return ""
	}
	return problem + strings.Join(log, "\n")
}

// told plays lines to a mirror: "< frame" is the agent's, "> frame" what the
// client must send then, "> end" the end.
func told(t *testing.T, m *mirror, lines ...string) {
	t.Helper()
	var got []string
	take := func(list []sending) {
		for _, s := range list {
			if s.end {
				got = append(got, "end")
			} else {
				got = append(got, string(s.raw))
			}
		}
	}
	take(m.start())
	for i, line := range lines {
		what, rest, _ := strings.Cut(line, " ")
		switch what {
		case "<":
			if len(got) > 0 {
				t.Fatalf("before line %d it sent %q", i, got)
			}
			take(m.frame([]byte(rest)))
		case "hurry":
			take(m.hurry())
		case "stuck":
			what, list := m.stuck()
			if what != rest {
				t.Fatalf("line %d: stuck for %q, want %q", i, what, rest)
			}
			take(list)
		case ">":
			if len(got) == 0 || !bytes.Equal([]byte(got[0]), []byte(rest)) {
				t.Fatalf("line %d: it sent %q, want %s", i, got, rest)
			}
			got = got[1:]
		}
	}
	if len(got) > 0 {
		t.Fatalf("at the end it sent %q", got)
	}
}

// TestMirrorCases holds single rules of the mirror.
func TestMirrorCases(t *testing.T) {
	call := func(id, path string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"fs/read_text_file","params":{"sessionId":"s1","path":%q}}`, id, path)
	}
	read := func(id, content string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":%q}}`, id, content)
	}
	const opened = `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}`
	acp := []string{
		`in {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`,
		`out {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}`,
		`in {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w"}}`,
		`out ` + opened,
		`in {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`,
		`out ` + call("0", "/a"), `out ` + call("1", "/b"),
		`in ` + read("1", "B"), `in ` + read("0", "A"),
		`out {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`,
		`event eof`, `exit 0`,
	}
	begun := []string{
		`> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`,
		`< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}`,
		`> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w"}}`,
		`< {"jsonrpc":"2.0","id":1,"result":{"sessionId":"live-1"}}`,
		`> {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"live-1","prompt":[]}}`,
	}
	live := func(s string) string { return strings.ReplaceAll(s, `"s1"`, `"live-1"`) }
	const ended = `< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`
	phi := []string{
		`out {"type":"hello","protocol_version":1,"server_name":"a","server_version":"1"}`,
		`in {"type":"run","session_id":"","query":"weather"}`,
		`out {"type":"tool_call","seq":2,"call_id":"call-2","name":"w","args":{"city":"Oslo"}}`,
		`in {"type":"tool_result","call_id":"call-2","summary":"rain"}`,
		`out {"type":"event","seq":2,"runtimeEventType":"textDelta","text":"four"}`,
		`in {"type":"cancel"}`,
		`out {"type":"error","code":"TURN_ERROR","message":"cancelled"}`,
		`event TERM`,
	}
	hello := []string{
		`< {"type":"hello","protocol_version":1,"server_name":"a","server_version":"2"}`,
		`> {"type":"run","session_id":"","query":"weather"}`,
	}
	for name, c := range map[string]struct {
		dialect       string
		lines, played []string
		reported      string
	}{
		"parallel calls in another order": {"acp", acp, append(begun,
			`< `+live(call(`"q"`, "/b")), `> `+read(`"q"`, "B"),
			`< `+live(call("7", "/a")), `> `+read("7", "A"), ended, `> end`, `> end`), ""},
		"a call with other arguments gets the next answer": {"acp", acp, append(begun,
			`< `+live(call("0", "/other")), `> `+read("0", "A"),
			`< `+live(call("1", "/b")), `> `+read("1", "B"), ended, `> end`, `> end`), ""},
		"a call more than recorded": {"acp", acp, append(begun,
			`< `+live(call("0", "/a")), `> `+read("0", "A"),
			`< `+live(call("1", "/b")), `> `+read("1", "B"),
			`< `+live(call("2", "/b")),
			`> {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Error: agentrec: fs/read_text_file was recorded 2 times and has now been made once more"}}`,
			ended, `> end`, `> end`), Unknown},
		"a silent agent": {"acp", acp, append(begun, `stuck the response to session/prompt`), ""},
		"a cancel comes when as much was said": {"phi", phi, append(hello,
			`< {"type":"tool_call","seq":9,"call_id":"call-9","name":"w","args":{"city":"Oslo"}}`,
			`> {"type":"tool_result","call_id":"call-9","summary":"rain"}`,
			`< {"type":"event","seq":9,"runtimeEventType":"textDelta","text":"fo"}`,
			`< {"type":"event","seq":9,"runtimeEventType":"textDelta","text":"ur"}`,
			`> {"type":"cancel"}`,
			`< {"type":"error","code":"TURN_ERROR","message":"cancelled"}`, `> end`, `> end`), ""},
		"a cancel does not wait for ever": {"phi", phi, append(hello,
			`< {"type":"event","seq":9,"runtimeEventType":"textDelta","text":"f"}`,
			`hurry`, `> {"type":"cancel"}`,
			`< {"type":"error","code":"TURN_ERROR","message":"cancelled"}`, `> end`, `> end`), ""},
		"a tool that was never called": {"phi", phi, append(hello,
			`< {"type":"tool_call","seq":9,"call_id":"call-9","name":"x","args":{}}`,
			`> {"type":"tool_result","call_id":"call-9","summary":"Error: agentrec: tool_call of x is not in the recording","raw":null,"control_flow":"break"}`), Unknown},
		"no greeting": {"phi", phi, []string{`stuck hello`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestMirror(t, c.dialect, c.lines)
			reported := ""
			m.report = func(n Entry) { reported += n.Kind }
			told(t, m, c.played...)
			if reported != c.reported {
				t.Errorf("reported %q, want %q", reported, c.reported)
			}
		})
	}
}
