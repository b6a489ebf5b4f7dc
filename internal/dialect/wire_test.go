package dialect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"agentrec/store"
)

// line is a frame of a real conversation.
type line struct {
	stream store.Stream
	raw    []byte
}

// wire reads a real conversation from testdata/wire.
func wire(t testing.TB, name string) []line {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "wire", name+".wire.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	var out []line
	for _, row := range bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		var r struct {
			Dir  string
			Line *string
			B64  string `json:"line_b64"`
		}
		if err := json.Unmarshal(row, &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l := line{stream: map[string]store.Stream{"c2s": store.In, "s2c": store.Out, "err": store.Err}[r.Dir]}
		if r.Line != nil {
			l.raw = []byte(*r.Line)
		} else if l.raw, err = base64.StdEncoding.DecodeString(r.B64); err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

func builtinDialect(t testing.TB, name string) *Dialect {
	t.Helper()
	d, err := Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// pairs pairs responses with requests as the replay model says and returns the
// pairs by index, the unpaired responses and the requests left open.
func pairs(d *Dialect, lines []line) (paired map[int]int, unpaired, open []int) {
	type request struct {
		at     int
		stream store.Stream
		r      Reading
		muted  bool // cancelled, and such a one gets no answer
	}
	var waiting []request
	paired = map[int]int{}
	one := func(i int, stream store.Stream, r Reading) {
		switch r.Role {
		case Request:
			waiting = append(waiting, request{at: i, stream: stream, r: r})
		case Cancel:
			for k := range waiting {
				if w := &waiting[k]; r.Target != "" && w.stream == stream && w.r.ID == r.Target && !r.Rule.Answered {
					w.muted = true
				}
			}
		case Response:
			for _, muted := range []bool{false, true} {
				for k, w := range waiting {
					fits := w.muted == muted && w.stream != stream && (r.ID != "" && w.r.ID == r.ID || r.ID == "" && contains(r.Answers, w.r.Key))
					if fits {
						paired[i] = w.at
						waiting = append(waiting[:k:k], waiting[k+1:]...)
						return
					}
				}
			}
			unpaired = append(unpaired, i)
		}
	}
	for i, l := range lines {
		r := d.Read(l.stream, l.raw)
		if r.Members == nil {
			one(i, l.stream, r)
		}
		for _, m := range r.Members {
			one(i, l.stream, m)
		}
	}
	for _, w := range waiting {
		if !w.muted {
			open = append(open, w.at)
		}
	}
	return paired, unpaired, open
}

func contains(keys []string, key string) bool {
	for _, k := range keys {
		if k == key && k != "" {
			return true
		}
	}
	return false
}
