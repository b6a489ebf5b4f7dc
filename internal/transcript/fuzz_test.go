package transcript

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// FuzzBuild derives transcripts of any frames in any dialect: nothing panics,
// every index leads somewhere, what is written to an index comes back, and
// deriving in two steps gives what one step gives.
func FuzzBuild(f *testing.F) {
	for _, file := range []string{"phi-0.3.0__python-sdk-0.2.7", "pi-1.6.0", "acp__ts24-client__ts24-rich-agent", "mcp__sdk-1.32.2-client__server-everything", "other__drive__claude-code-2.1.197-stream-json"} {
		data, err := os.ReadFile("testdata/wire/" + file + ".wire.ndjson")
		if err != nil {
			f.Fatal(err)
		}
		var b bytes.Buffer
		for _, l := range rows(f, data) {
			b.WriteString(map[string]string{"c2s": "<", "s2c": ">", "err": "!"}[l.Dir] + l.Line + "\n")
		}
		for i := range dialect.Names() {
			f.Add(b.Bytes(), uint8(i), uint16(b.Len()/600))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, which uint8, split uint16) {
		names := dialect.Names()
		d, err := dialect.Builtin(names[int(which)%len(names)])
		if err != nil {
			t.Fatal(err)
		}
		one, two := frames(data), frames(data)
		a := begin(&store.Session{State: store.Closed}, d)
		for _, x := range one {
			r := d.Read(x.Stream, x.Raw)
			a.frame(x, &r)
		}
		b := begin(&store.Session{State: store.Closed}, d)
		for i, x := range two {
			if i == int(split) {
				_ = b.Open()
			}
			r := d.Read(x.Stream, x.Raw)
			b.frame(x, &r)
			clear(x.Raw) // nothing may be kept of a frame
		}
		if !bytes.Equal(a.encode(), b.encode()) {
			t.Error("memory of a frame was kept")
		}
		s := &store.Session{State: store.Closed, Chains: [store.Streams]store.Chain{{Frames: int64(len(one))}}}
		c, err := decodeTranscript(a.encode(), s, d)
		if err != nil || !bytes.Equal(c.encode(), a.encode()) {
			t.Errorf("the index does not come back: %v", err)
		}
		sound(t, a)
	})
}

// frames cuts the fuzzer's input into frames: a line each, its first byte is the
// stream.
func frames(data []byte) []store.Frame {
	var out []store.Frame
	for l := range bytes.Lines(bytes.Clone(data)) {
		l = bytes.TrimSuffix(l, []byte("\n"))
		f := store.Frame{Seq: int64(len(out) + 1), Time: time.Duration(len(out)) * time.Millisecond}
		if len(l) > 0 {
			switch l[0] {
			case '>':
				f.Stream = store.Out
			case '!':
				f.Stream = store.Err
			}
			l = l[1:]
		}
		f.Raw, f.Size = l, int64(len(l))
		out = append(out, f)
	}
	return out
}

// sound checks that every index of a transcript leads somewhere.
func sound(t *testing.T, tr *Transcript) {
	t.Helper()
	n := int64(len(tr.Entries))
	for i, e := range tr.Entries {
		seq := int64(i + 1)
		_ = tr.Label(e) + tr.Conversation(e.Conversation)
		if int64(e.Pair) > n || int(e.Turn) > len(tr.Turns) || e.Pair < 0 || e.Turn < 0 || int64(e.Pair) == seq {
			t.Fatalf("frame %d: %+v", seq, e)
		}
		if e.Flags.Has(InCall) && (tr.Calls[e.Part-1].Seq > seq || tr.Calls[e.Part-1].LastSeq < seq) {
			t.Fatalf("frame %d lies outside of its call: %+v", seq, tr.Calls[e.Part-1])
		}
		if e.Flags.Has(InFold) && !e.Flags.Has(InCall) {
			if d := tr.Folds[e.Part-1]; d.First > seq || max(d.Last, d.Whole) < seq {
				t.Fatalf("frame %d lies outside of its text: %+v", seq, d)
			}
		}
		if at := tr.ItemAt(seq); at >= tr.Len() {
			t.Fatalf("frame %d leads to item %d of %d", seq, at, tr.Len())
		}
	}
	last := int64(0)
	for i, it := range tr.Items() {
		if it.Seq < last || it.Seq > n || it.Last < it.Seq || it.Answer > n || it.Turn >= len(tr.Turns) || it.Kind == KindNone {
			t.Fatalf("item %d: %+v after #%d", i, it, last)
		}
		last = it.Seq
	}
	for _, u := range tr.Turns {
		if u.First < 1 || u.Last != 0 && u.Last < u.First || u.Last > n || u.Took() < 0 {
			t.Fatalf("turn: %+v", u)
		}
	}
	for _, seq := range append(tr.Open(), tr.Errors...) {
		if seq < 1 || seq > n {
			t.Fatalf("there is no frame %d", seq)
		}
	}
	_ = tr.Outcome(0).Lines()
	if _, err := tr.Stats(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
}
