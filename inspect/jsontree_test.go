package inspect

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
	"agentrec/store"
)

var jsonSeeds = []string{
	`{}`, `[]`, `null`, `"x"`, `{"a":{"b":[1,2,{"c.d":null}]},"*":"\n"}`, ` [ 1 , "a\u0000" , [ ] , { } ] `, `{"a":1,"a":2}`, `{"":{"":[]}}`, `[[[[[]]]],{"k":[true,false]}]`,
	`1e400`, `"\ud800"`, "\"\x9b\"",
}

// Every row of a tree is a value of the text, its path leads there, and folding
// and unfolding everything loses nothing.
func FuzzJSONTree(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		tree := newJSONTree(raw)
		if (tree != nil) != dialect.Valid(raw) {
			t.Fatalf("valid %v, but a tree: %v", dialect.Valid(raw), tree != nil)
		}
		if tree == nil || len(raw) > 4000 {
			return
		}
		tree.foldAll(false)
		all := tree.Len()
		if !bytes.Equal(tree.text(0), bytes.Trim(raw, " \t\r\n")) {
			t.Fatalf("the root is %q of %q", tree.text(0), raw)
		}
		for i := range all {
			if !dialect.Valid(tree.text(i)) {
				t.Fatalf("row %d is %q", i, tree.text(i))
			}
			for _, l := range tree.Item(i, 80) {
				harmless(t, visible(l.String()), false)
			}
			place := transcript.PlaceAt(raw, tree.nodes[tree.visible[i]].Start)
			if got, want := tree.path(i), transcript.JoinPath(place); got != want {
				t.Fatalf("row %d of %q is at %q, want %q", i, raw, got, want)
			}
			if p := tree.parent(i); i > 0 && (p >= i || tree.nodes[tree.visible[p]].Depth != tree.nodes[tree.visible[i]].Depth-1) {
				t.Fatalf("the parent of row %d of %q is %d", i, raw, p)
			}
		}
		tree.foldAll(true)
		for i := 0; i < tree.Len(); i++ {
			if tree.closed[tree.visible[i]] {
				tree.toggle(i)
			}
		}
		if tree.Len() != all {
			t.Fatalf("%d rows after unfolding one by one, want %d", tree.Len(), all)
		}
	})
}

// The key of a frame does not depend on white space, order of members or
// escapes, and frames that differ have different keys.
func FuzzKeyOf(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s), []byte(`{"a":[1]}`))
	}
	d, err := dialect.Builtin("ndjson")
	if err != nil {
		f.Fatal(err)
	}
	frame := func(raw []byte) store.Frame {
		return store.Frame{Stream: store.Out, Raw: raw, Size: int64(len(raw)), Term: store.LF}
	}
	again := func(raw []byte) ([]byte, bool) {
		if !dialect.Valid(raw) || len(raw) > 4000 || bytes.Contains(raw, []byte(`\u`)) || !json.Valid(raw) || strings.ToValidUTF8(string(raw), "") != string(raw) {
			return nil, false
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var v any
		if dec.Decode(&v) != nil {
			return nil, false
		}
		b, err := json.Marshal(v)
		return b, err == nil && bytes.Count(b, []byte(`:`)) == bytes.Count(raw, []byte(`:`)) // no duplicate keys
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		ca, ok := again(a)
		if !ok {
			return
		}
		if keyOf(d, frame(a)) != keyOf(d, frame(ca)) {
			t.Fatalf("%q and %q say the same", a, ca)
		}
		if cb, ok := again(b); ok && (keyOf(d, frame(a)) == keyOf(d, frame(b))) != bytes.Equal(ca, cb) {
			t.Fatalf("%q and %q: equal keys %v, equal content %v", a, b, keyOf(d, frame(a)) == keyOf(d, frame(b)), bytes.Equal(ca, cb))
		}
	})
}

// No text can look like what stands around it.
func TestKeyOfTellsTextsFromPlaces(t *testing.T) {
	d, err := dialect.Builtin("ndjson")
	if err != nil {
		t.Fatal(err)
	}
	key := func(raw string) frameKey {
		return keyOf(d, store.Frame{Stream: store.Out, Raw: []byte(raw), Size: int64(len(raw)), Term: store.LF})
	}
	for _, pair := range [][2]string{
		{`["a\u0000,\"b"]`, `["a","b"]`},
		{`{"a\u0000\"b\u0000c":1}`, `{"a":"b","c":1}`},
		{`["\u0001"]`, `[""]`},
	} {
		if key(pair[0]) == key(pair[1]) {
			t.Errorf("%s and %s count as the same", pair[0], pair[1])
		}
	}
}
