package transcript

import (
	"slices"
	"strings"
	"testing"

	"agentrec/internal/dialect"
)

func paths(t *testing.T, list ...string) dialect.Paths {
	t.Helper()
	p, err := dialect.ParsePaths(list...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name, recorded, live string
		ignore               []string
		want                 string // "path: recorded | live" joined by "; "
	}{
		{"equal bytes", `{"a":1}`, `{"a":1}`, nil, ""},
		{"spaces and key order", `{"a":1,"b":[1, 2]}`, `{ "b" : [1,2], "a" : 1 }`, nil, ""},
		{"a value", `{"a":{"b":1}}`, `{"a":{"b":2}}`, nil, "a.b: 1 | 2"},
		{"another type", `{"id":1}`, `{"id":"1"}`, nil, `id: 1 | "1"`},
		{"numbers by value", `[1.0,100,1e400,-0,0.10]`, `[1,1e2,10e399,0,1E-1]`, nil, ""},
		{"no float rounding", `[9007199254740993]`, `[9007199254740992]`, nil, "0: 9007199254740993 | 9007199254740992"},
		{"a huge exponent", `[1e99999999999999999999]`, `[10e99999999999999999998]`, nil, ""},
		{"escapes", `{"\u0061":"\u00e9\n\/"}`, `{"a":"é\u000a/"}`, nil, ""},
		{"a pair of surrogates", `["\ud83d\ude00"]`, `["😀"]`, nil, ""},
		{"a lone surrogate is not a replacement", `["\ud83d"]`, `["\ufffd"]`, nil, `0: "\ud83d" | "\ufffd"`},
		{"two lone surrogates differ", `["\ud83d"]`, `["\ud83e"]`, nil, `0: "\ud83d" | "\ud83e"`},
		{"missing and extra", `{"a":1,"b":null}`, `{"a":1,"c":[]}`, nil, "b: null | ; c:  | []"},
		{"the first of duplicate keys", `{"a":1,"a":2}`, `{"a":1}`, nil, ""},
		{"ignored", `{"t":1,"m":{"t":2,"x":3}}`, `{"t":9,"m":{"t":8,"x":3}}`, []string{"**.t"}, ""},
		{"ignored and absent", `{"a":1,"_meta":{}}`, `{"a":1}`, []string{"_meta"}, ""},
		{"one element more", `[1,2,3,4]`, `[1,9,2,3,4]`, nil, "1:  | 9"},
		{"one element less", `[{"a":1},{"a":2},{"a":3}]`, `[{"a":1},{"a":3}]`, nil, `1: {"a":2} | `},
		{"one more and one changed", `[1,2,3]`, `[1,5,3,4]`, nil, "1: 2 | 5; 3:  | 4"},
		{"keys with dots and stars", `{"a.b":{"*":1}}`, `{"a.b":{"*":2}}`, nil, `a\.b.\*: 1 | 2`},
		{"the root", `1`, `[]`, nil, ": 1 | []"},
		{"not JSON", "DEBUG x", "DEBUG y", nil, `: "DEBUG x" | "DEBUG y"`},
		{"one is not JSON", `{}`, "{", nil, `: {} | "{"`},
		{"an empty key", `{"":1}`, `{"":2}`, nil, ": 1 | 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, d := range Compare([]byte(c.recorded), []byte(c.live), paths(t, c.ignore...), nil) {
				got = append(got, d.Path+": "+d.Recorded+" | "+d.Live)
			}
			if s := strings.Join(got, "; "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
			back := Compare([]byte(c.live), []byte(c.recorded), paths(t, c.ignore...), nil)
			if len(back) != len(got) {
				t.Errorf("the other way round there are %d differences, not %d", len(back), len(got))
			}
		})
	}
}

func TestCompareAccept(t *testing.T) {
	var asked []string
	accept := func(path []string, recorded, live string) bool {
		asked = append(asked, strings.Join(path, "/")+" "+recorded+" "+live)
		return recorded == `"T"`
	}
	got := Compare([]byte(`{"a":["T",1],"b":{"c":1}}`), []byte(`{"a":["x",2],"b":{"c":[1]}}`), dialect.Paths{}, accept)
	if len(got) != 2 || got[0].Path != "a.1" || got[1].Path != "b.c" {
		t.Errorf("differences: %v", got)
	}
	if want := []string{`a/0 "T" "x"`, `a/1 1 2`}; !slices.Equal(asked, want) {
		t.Errorf("asked about %q, want %q", asked, want)
	}
}

func TestCompareHostile(t *testing.T) {
	// Arrays whose lengths differ at each level must not be compared twice a level.
	depth := 9000
	a := strings.Repeat("[", depth) + "1" + strings.Repeat("]", depth)
	b := strings.Repeat("[", depth) + "2" + strings.Repeat(",0]", depth)
	if got := Compare([]byte(a), []byte(b), dialect.Paths{}, nil); len(got) != depth+1 {
		t.Errorf("%d differences, want %d", len(got), depth+1)
	}
}

func TestPlaceAt(t *testing.T) {
	raw := `{"a":{"b":[{"x":1},{"id":"T"}]},"c.d":2}`
	for at, want := range map[string]string{`"T"`: "a.b.1.id", `2`: `c\.d`, `[{`: "a.b", `{"a"`: ""} {
		got := PlaceAt([]byte(raw), strings.LastIndex(raw, at))
		if got == nil || JoinPath(got) != want {
			t.Errorf("the place of %s is %q, want %q", at, got, want)
		}
	}
	if got := PlaceAt([]byte(raw), 1); got != nil {
		t.Errorf("a key has the place %q", got)
	}
}

// FuzzCompare holds that frames equal themselves in any spelling that Go's own
// encoder chooses, and that the order of the two sides does not matter.
func FuzzCompare(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,{"b":"\u00e9"}]}`), []byte(`{"a":[1,2,3]}`))
	f.Add([]byte(`[1,[2,[3]]]`), []byte(`[[2,[3]],1]`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if got := Compare(a, a, dialect.Paths{}, nil); len(got) != 0 {
			t.Errorf("a frame differs from itself: %v", got)
		}
		spaced := []byte(" " + string(a) + " ")
		if dialect.Valid(a) {
			if got := Compare(a, spaced, dialect.Paths{}, nil); len(got) != 0 {
				t.Errorf("a frame differs from itself with spaces around: %v", got)
			}
		}
		there, back := Compare(a, b, dialect.Paths{}, nil), Compare(b, a, dialect.Paths{}, nil)
		if (len(there) == 0) != (len(back) == 0) {
			t.Errorf("one way %v, the other %v", there, back)
		}
	})
}
