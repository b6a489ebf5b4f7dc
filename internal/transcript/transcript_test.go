package transcript

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

var update = flag.Bool("update", false, "write the golden files")

// dump writes a transcript as text.
func dump(t *testing.T, tr *Transcript) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "dialect %s\nagent %s\nusage %+v\nopen %v\nerrors %v\n", tr.Dialect.Name(), tr.Agent, tr.Usage, tr.Open(), tr.Errors)
	for _, c := range tr.Conversations {
		fmt.Fprintf(&b, "conversation %s #%d-%d turns %d\n", c.Name, c.First, c.Last, c.Turns)
	}
	for _, l := range tr.Labels {
		fmt.Fprintf(&b, "label %s frames %d bytes %d\n", l.Name, l.Frames, l.Bytes)
	}
	for i, u := range tr.Turns {
		fmt.Fprintf(&b, "turn %d %s #%d-%d took %s prompt %q outcome %q failed %v frames %d calls %d\n",
			i+1, u.Conversation, u.First, u.Last, u.Took(), u.Prompt, u.Outcome, u.Failed, u.Frames, u.Calls)
	}
	for _, c := range tr.Calls {
		fmt.Fprintf(&b, "call %s %s #%d-%d-%d turn %d took %s failed %v\n", c.ID, c.Name, c.Seq, c.ResultSeq, c.LastSeq, c.Turn, c.Took(), c.Failed)
	}
	for i, it := range tr.Items() {
		c, err := tr.Content(context.Background(), it, 120)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%d %s #%d-%d", i, it.Kind, it.Seq, it.Last)
		if it.Answer > 0 {
			fmt.Fprintf(&b, " answer #%d took %s", it.Answer, it.Took)
		}
		if it.Frames > 1 {
			fmt.Fprintf(&b, " frames %d", it.Frames)
		}
		fmt.Fprintf(&b, " turn %d %s failed %v\n", it.Turn+1, it.Label, it.Failed)
		for _, part := range []struct{ name, text string }{{"text", c.Text}, {"args", c.Args}, {"answer", c.Answer}} {
			if part.text != "" {
				fmt.Fprintf(&b, "    %s %q\n", part.name, part.text)
			}
		}
	}
	for _, l := range tr.Outcome(0).Lines() {
		fmt.Fprintf(&b, "%s: %s [%s] %v\n", l.Name, l.Text, l.Filter, l.Bad)
	}
	return b.String()
}

// TestReal derives the transcripts of real conversations.
func TestReal(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.wire.ndjson")
	if err != nil || len(files) == 0 {
		t.Fatal("no conversations", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".wire.ndjson")
		t.Run(name, func(t *testing.T) {
			golden := filepath.Join("testdata", name+".golden")
			got := dump(t, build(t, "", wire(t, file)))
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the transcript is not that of %s; run with -update and look at the difference\n%s", golden, firstDifference(string(want), got))
			}
		})
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

func phi(lines ...string) []line {
	var out []line
	for i, l := range lines {
		dir, text, _ := strings.Cut(l, " ")
		out = append(out, line{T: float64(i), Dir: map[string]string{"in": "c2s", "out": "s2c", "err": "err"}[dir], Line: text})
	}
	return out
}

// TestExtend reads a session in every possible number of steps: the result is
// that of one step.
func TestExtend(t *testing.T) {
	ctx := context.Background()
	lines := wire(t, "testdata/wire/phi-0.3.0__python-sdk-0.2.7.wire.ndjson")
	want := dump(t, build(t, "phi", lines))
	for step := 1; step < len(lines); step++ {
		db, err := store.OpenTemp(ctx)
		if err != nil {
			t.Fatal(err)
		}
		w, err := db.Begin(ctx, store.Start{Started: time.Unix(1700000000, 0), Argv: []string{"agent"}})
		if err != nil {
			t.Fatal(err)
		}
		d, err := dialect.Builtin("phi")
		if err != nil {
			t.Fatal(err)
		}
		s, err := db.Find(ctx, "last")
		if err != nil {
			t.Fatal(err)
		}
		tr, err := Build(ctx, s, d)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range lines {
			stream := map[string]store.Stream{"c2s": store.In, "s2c": store.Out, "err": store.Err}[l.Dir]
			w.Frame(stream, time.Duration(l.T*1000)*time.Microsecond, []byte(l.Line), store.LF)
			if (i+1)%step != 0 {
				continue
			}
			if err := w.Commit(ctx, nil); err != nil {
				t.Fatal(err)
			}
			if grown, err := tr.Extend(ctx); err != nil || !grown {
				t.Fatal("nothing new after a commit", err)
			}
			if grown, err := tr.Extend(ctx); err != nil || grown {
				t.Fatal("something new without a commit", err)
			}
		}
		if err := w.Close(ctx, store.End{State: store.Closed, Exit: &store.Exit{}}); err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Extend(ctx); err != nil {
			t.Fatal(err)
		}
		if got := dump(t, tr); got != want {
			t.Fatalf("in steps of %d: %s", step, firstDifference(want, got))
		}
		db.Close()
	}
}

// TestPhiRepeatedCallIDs: call ids begin anew with each run.
func TestPhiRepeatedCallIDs(t *testing.T) {
	tr := build(t, "phi", phi(
		`in {"type":"run","query":"a"}`,
		`out {"type":"tool_call","seq":1,"call_id":"call-5","name":"x","args":{}}`,
		`in {"type":"tool_result","call_id":"call-5","summary":"one"}`,
		`out {"type":"done","seq":2,"outcome":"completed"}`,
		`in {"type":"run","query":"b"}`,
		`out {"type":"tool_call","seq":3,"call_id":"call-5","name":"x","args":{}}`,
		`in {"type":"tool_result","call_id":"call-5","summary":"Error: two"}`,
		`out {"type":"done","seq":4,"outcome":"completed"}`,
	))
	if len(tr.Calls) != 2 || tr.Calls[0].ResultSeq != 3 || tr.Calls[1].ResultSeq != 7 || tr.Calls[0].Failed || !tr.Calls[1].Failed {
		t.Errorf("calls: %+v", tr.Calls)
	}
	if len(tr.Turns) != 2 || tr.Turns[0].Calls != 1 || tr.Turns[1].Calls != 1 {
		t.Errorf("turns: %+v", tr.Turns)
	}
}

// TestPhiMuteAfterError: phi writes an error and is mute ever after; the run
// that comes then is a turn of its own that never ends.
func TestPhiMuteAfterError(t *testing.T) {
	tr := build(t, "phi", phi(
		`in {"type":"run","query":"a"}`,
		`out {"type":"error","code":"TURN_ERROR","message":"HTTP 500"}`,
		`in {"type":"run","query":"b"}`,
	))
	if len(tr.Turns) != 2 || !tr.Turns[0].Failed || tr.Turns[0].Outcome != "TURN_ERROR: HTTP 500" || tr.Turns[1].Last != 0 {
		t.Errorf("turns: %+v", tr.Turns)
	}
	if open := tr.Open(); len(open) != 1 || open[0] != 3 {
		t.Errorf("open: %v", open)
	}
	if len(tr.Errors) != 1 || tr.Errors[0] != 2 {
		t.Errorf("errors: %v", tr.Errors)
	}
	first := tr.Outcome(0).Lines()[0]
	if want := "exit status 0, inside the turn that #3 began"; first.Text != want || !first.Bad {
		t.Errorf("ended: %+v", first)
	}
}

// TestInterleavedFolds: text that is interrupted by nothing visible is one
// text; a call between two deltas makes two of them.
func TestInterleavedFolds(t *testing.T) {
	tr := build(t, "phi", phi(
		`in {"type":"run","query":"a"}`,
		`out {"type":"event","seq":1,"runtimeEventType":"textDelta","text":"one "}`,
		`err some log`,
		`out {"type":"event","seq":2,"runtimeEventType":"checkpoint","checkpoint":{}}`,
		`out {"type":"event","seq":3,"runtimeEventType":"textDelta","text":"two"}`,
		`out {"type":"tool_call","seq":4,"call_id":"c","name":"x","args":{}}`,
		`out {"type":"event","seq":5,"runtimeEventType":"textDelta","text":"three"}`,
		`out {"type":"event","seq":6,"runtimeEventType":"thoughtDelta","text":"hm"}`,
		`out {"type":"event","seq":7,"runtimeEventType":"textDelta","text":"four"}`,
	))
	var got []string
	for i := range tr.Folds {
		text, whole := tr.Folds[i].Text()
		got = append(got, fmt.Sprintf("%s %q %v %d", tr.Folds[i].Shows, text, whole, tr.Folds[i].Frames))
	}
	want := []string{`text "one two" true 2`, `text "three" true 1`, `thought "hm" true 1`, `text "four" true 1`}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestLongFold: of a long text only the beginning is kept; the rest is read
// from the store.
func TestLongFold(t *testing.T) {
	lines := phi(`in {"type":"run","query":"a"}`)
	var want strings.Builder
	for i := range 300 {
		part := strings.Repeat(string(rune('a'+i%26)), 999) + "é"
		want.WriteString(part)
		lines = append(lines, phi(`out {"type":"event","seq":1,"runtimeEventType":"textDelta","text":"`+part+`"}`)...)
	}
	tr := build(t, "phi", lines)
	if len(tr.Folds) != 1 {
		t.Fatalf("%d folds", len(tr.Folds))
	}
	head, whole := tr.Folds[0].Text()
	if whole || len(head) > maxFold || !strings.HasPrefix(want.String(), head) || tr.Folds[0].Size != int64(want.Len()) {
		t.Errorf("kept %d bytes of %d, whole %v", len(head), tr.Folds[0].Size, whole)
	}
	got, err := tr.FoldText(context.Background(), 0, 1<<30)
	if err != nil || got != want.String() {
		t.Errorf("the whole text has %d bytes, want %d: %v", len(got), want.Len(), err)
	}
	if got, err = tr.FoldText(context.Background(), 0, maxFold+10); err != nil || !strings.HasPrefix(want.String(), got) || len(got) < maxFold {
		t.Errorf("%d bytes: %v", len(got), err)
	}
}

// TestItemAt leads from every frame to the item that shows it.
func TestItemAt(t *testing.T) {
	tr := build(t, "", wire(t, "testdata/wire/phi-0.3.0__python-sdk-0.2.7.wire.ndjson"))
	want := map[int64]Kind{1: KindGreeting, 3: KindRequest, 8: KindPrompt, 10: KindPrompt, 12: KindText, 14: KindEnd, 20: KindCall, 22: KindCall, 24: KindCall, 25: KindEnd}
	for seq, kind := range want {
		i := tr.ItemAt(seq)
		if i < 0 || tr.Item(i).Kind != kind {
			t.Errorf("frame %d leads to item %d, want one of kind %s", seq, i, kind)
		}
	}
	if tr.ItemAt(0) != -1 || tr.ItemAt(26) != -1 {
		t.Error("frames that do not exist have items")
	}
}

// TestFoldsByPart: deltas that name what they belong to join across whatever
// lies between, however many there are.
func TestFoldsByPart(t *testing.T) {
	lines := phi(
		`in {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`,
		`in {"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"q"}]}}`,
	)
	const messages = 50
	for round := range 3 {
		for m := range messages {
			lines = append(lines, phi(fmt.Sprintf(`out {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"m%d","content":{"type":"text","text":"%d.%d "}}}}`, m, m, round))...)
		}
	}
	lines = append(lines, phi(`out {"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`)...)
	tr := build(t, "acp", lines)
	if len(tr.Folds) != messages {
		t.Fatalf("%d joined texts, want %d", len(tr.Folds), messages)
	}
	for m := range tr.Folds {
		if text, _ := tr.Folds[m].Text(); text != fmt.Sprintf("%d.0 %d.1 %d.2 ", m, m, m) {
			t.Errorf("text %d: %q", m, text)
		}
	}
}

// TestCallOverWhenAnnounced: ACP lets an agent tell of a call only once it is
// over; the one frame is then the call, its arguments and its result.
func TestCallOverWhenAnnounced(t *testing.T) {
	ctx := context.Background()
	const update = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}`
	s := session(t, []line{
		{0, "c2s", `{"jsonrpc":"2.0","id":0,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"look"}]}}`},
		{1, "s2c", fmt.Sprintf(update, `{"sessionUpdate":"tool_call","toolCallId":"c","title":"Read a","status":"failed","rawInput":{"path":"a"},"content":[{"type":"content","content":{"type":"text","text":"gone"}}]}`)},
		{2, "s2c", `{"jsonrpc":"2.0","id":0,"result":{"stopReason":"end_turn"}}`},
	})
	d, err := dialect.Load("acp")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := Build(ctx, s, d)
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Calls) != 1 {
		t.Fatalf("%d calls, want 1", len(tr.Calls))
	}
	c := tr.Calls[0]
	if c.Name != "Read a" || c.Seq != 2 || c.ArgsSeq != 2 || c.ResultSeq != 2 || !c.Failed {
		t.Errorf("call %+v, want all of it in frame 2, failed", c)
	}
	for _, it := range tr.Items() {
		if it.Kind != KindCall {
			continue
		}
		got, err := tr.Content(ctx, it, 100)
		if err != nil {
			t.Fatal(err)
		}
		if got.Args != `{"path":"a"}` || got.Text != "gone" {
			t.Errorf("args %q, result %q", got.Args, got.Text)
		}
	}
}

// TestGrowth: growing by Fetch and Take, in steps of any size, gives what one
// step gives, and Fetch changes nothing.
func TestGrowth(t *testing.T) {
	ctx := context.Background()
	lines := wire(t, "testdata/wire/acp__ts24-client__ts24-rich-agent.wire.ndjson")
	for range 40 {
		lines = append(lines, lines[:120]...) // more than one growth holds
	}
	want := dump(t, build(t, "acp", lines))
	db, err := store.OpenTemp(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w, err := db.Begin(ctx, store.Start{Started: time.Unix(1700000000, 0), Argv: []string{"agent"}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := dialect.Builtin("acp")
	if err != nil {
		t.Fatal(err)
	}
	s, err := db.Find(ctx, "last")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := Build(ctx, s, d)
	if err != nil {
		t.Fatal(err)
	}
	grow := func() (steps int) {
		for {
			before := len(tr.Entries)
			g, err := tr.Fetch(ctx)
			if err != nil || len(tr.Entries) != before {
				t.Fatal(len(tr.Entries)-before, err)
			}
			if steps++; !tr.Take(g) && g.More() {
				t.Fatal("more, and nothing now")
			}
			if !g.More() {
				return steps
			}
		}
	}
	for i, l := range lines {
		stream := map[string]store.Stream{"c2s": store.In, "s2c": store.Out, "err": store.Err}[l.Dir]
		w.Frame(stream, time.Duration(l.T*1000)*time.Microsecond, []byte(l.Line), store.LF)
		if i == 7 || i == 300 {
			if err := w.Commit(ctx, nil); err != nil {
				t.Fatal(err)
			}
			if grow(); len(tr.Entries) != i+1 {
				t.Fatalf("%d frames of %d", len(tr.Entries), i+1)
			}
		}
	}
	if err := w.Close(ctx, store.End{State: store.Closed, Exit: &store.Exit{}}); err != nil {
		t.Fatal(err)
	}
	if steps := grow(); steps < 2 || tr.Session.State != store.Closed {
		t.Errorf("%d steps, then %s", steps, tr.Session.State)
	}
	if got := dump(t, tr); got != want {
		t.Error(firstDifference(want, got))
	}
	if g, err := tr.Fetch(ctx); err != nil || tr.Take(g) {
		t.Error("something new where there is none", err)
	}
}
