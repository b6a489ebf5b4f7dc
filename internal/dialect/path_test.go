package dialect

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestPathsMatch(t *testing.T) {
	for _, c := range []struct {
		path, place string
		want        bool
	}{
		{"a", "a", true}, {"a", "a/b", false}, {"a.b", "a/b", true}, {"a.b", "a", false},
		{"*", "a", true}, {"*", "a/b", false}, {"a.*.c", "a/7/c", true}, {"a.*.c", "a/c", false},
		{"**", "a/b/c", true}, {"**.id", "id", true}, {"**.id", "a/b/id", true}, {"**.id", "a/id/b", false},
		{"a.**.z", "a/z", true}, {"a.**.z", "a/b/c/z", true}, {"a.**", "a/b", true}, {"a.**", "b", false},
		{"**.a.**.b", "x/a/y/a/z/b", true}, {"**.a.**.b", "x/y/b", false},
		{`io\.x/y`, "io.x|y", false}, {`a\.b`, "a.b", true}, {`\*`, "*", true}, {`\*`, "a", false}, {`a\\b`, `a\b`, true},
	} {
		p, err := ParsePaths(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match(strings.Split(c.place, "/")); got != c.want {
			t.Errorf("%s matches %s: %v, want %v", c.path, c.place, got, c.want)
		}
		again, err := ParsePaths(p.Strings()...)
		if err != nil || !slices.Equal(again.Strings(), p.Strings()) {
			t.Errorf("%s is written back as %v (%v)", c.path, p.Strings(), err)
		}
	}
	for _, bad := range []string{"", ".", "a.", ".a", "a..b"} {
		if _, err := ParsePaths(bad); err == nil {
			t.Errorf("ParsePaths(%q) succeeded", bad)
		}
	}
	a, _ := ParsePaths("a")
	b, _ := ParsePaths("b")
	if both := a.Join(b); !both.Match([]string{"a"}) || !both.Match([]string{"b"}) || a.Match([]string{"b"}) || !(Paths{}).Empty() || both.Empty() {
		t.Error("a joined set has the places of both and changes neither")
	}
}

// FuzzFind holds the walk over bytes to Match over a decoded value.
func FuzzFind(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), "**.type")
		f.Add([]byte(s), "a.*.a")
		f.Add([]byte(s), "**.a.**")
	}
	f.Fuzz(func(t *testing.T, raw []byte, path string) {
		p, err := ParsePaths(path)
		if err != nil || !Valid(raw) {
			if p.Find(raw) != nil {
				t.Errorf("found something in %q", raw)
			}
			return
		}
		last := 0
		var got []string
		for _, s := range p.Find(raw) {
			if s.Start < last || s.End > len(raw) || s.Start >= s.End || !Valid(raw[s.Start:s.End]) {
				t.Fatalf("%v in %q", s, raw)
			}
			last = s.End
			got = append(got, string(raw[s.Start:s.End]))
		}
		var v any
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		if d.Decode(&v) != nil || strings.Contains(string(raw), `\u`) || len(raw) > 2000 {
			return
		}
		if want := count1(v, nil, p); len(got) < want {
			t.Errorf("%s in %q: found %q, %d of the decoded value match", path, raw, got, want)
		}
	})
}

// count1 counts the outermost places of a decoded value that match. Of equal
// keys a decoded value keeps one.
func count1(v any, place []string, p Paths) int {
	if p.Match(place) {
		return 1
	}
	n := 0
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if strings.ContainsRune(k, '\ufffd') {
				continue
			}
			n += count1(e, append(place[:len(place):len(place)], k), p)
		}
	case []any:
		for i, e := range v {
			n += count1(e, append(place[:len(place):len(place)], strconv.Itoa(i)), p)
		}
	}
	return n
}
