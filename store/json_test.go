package store

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// scanJSON says whether p, in pieces of the given lengths, is one JSON value
// without white space around it.
func scanJSON(p, sizes []byte) bool {
	var j jsonScanner
	for i := 0; len(p) > 0; i++ {
		n := len(p)
		if len(sizes) > 0 {
			n = min(n, 1+int(sizes[i%len(sizes)]))
		}
		if j.scan(p[:n]) < n {
			return false
		}
		p = p[n:]
	}
	return j.complete()
}

func checkJSON(t testing.TB, p, sizes []byte) {
	want := json.Valid(p) && len(bytes.TrimSpace(p)) == len(p) && !bytes.ContainsAny(p, "\r\n")
	got := scanJSON(p, sizes)
	if got != scanJSON(p, nil) {
		t.Fatalf("%q in pieces of %v is judged otherwise than whole", p, sizes)
	}
	if got != want && !(want && bytes.Count(p, []byte("["))+bytes.Count(p, []byte("{")) > maxJSONDepth) {
		t.Fatalf("%q: got %v, want %v", p, got, want)
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, `{"a":[1,2.5e+10,-0,true,false,null,"x\u00e9\\\n"]}`, `0`, `-`, `01`, `1.`, `1e`, `"`, `"\u12"`, `[1,]`, `{"a"}`, `{"a":1,}`,
		` 1`, `1 `, `tru`, `nul`, "\"\x00\"", "\"\xff\"", `{"a" : [ 1 , 2 ] }`, "[1,\n2]", `[[[[]]]]`, `1.5`, `-0.0e-1`, `{"":{}}`, `"\x"`, `}`, `]`, `12]`,
	} {
		f.Add([]byte(s), []byte{0})
	}
	f.Fuzz(func(t *testing.T, p, sizes []byte) { checkJSON(t, p, sizes) })
}

func TestJSONDepth(t *testing.T) {
	for n, want := range map[int]bool{maxJSONDepth: true, maxJSONDepth + 1: false, 1_000_000: false} {
		if got := scanJSON([]byte(strings.Repeat("[", n)+strings.Repeat("]", n)), nil); got != want {
			t.Errorf("depth %d: %v", n, got)
		}
	}
}

func FuzzUTF8(f *testing.F) {
	f.Add([]byte("aé€😀"), []byte{0})
	f.Add([]byte("\xf0\x9f\x98"), []byte{0, 1})
	f.Add([]byte("\xed\xa0\x80\xc0\x80"), []byte{1})
	f.Fuzz(func(t *testing.T, p, sizes []byte) {
		var u utf8Scanner
		rest := p
		for i := 0; len(rest) > 0; i++ {
			n := len(rest)
			if len(sizes) > 0 {
				n = min(n, 1+int(sizes[i%len(sizes)]))
			}
			u.scan(rest[:n])
			rest = rest[n:]
		}
		if want := !bytes.Contains(bytes.ToValidUTF8(p, []byte("\xff")), []byte("\xff")); u.valid() != want {
			t.Fatalf("%q in pieces of %v: %v, want %v", p, sizes, u.valid(), want)
		}
	})
}
