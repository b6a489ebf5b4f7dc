package redact

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"agentrec/internal/dialect"
	"agentrec/store"

	"github.com/tidwall/gjson"
)

// said joins the texts of an answer's events as a client does.
func said(answer, path string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(answer, "\n") {
		line = strings.TrimPrefix(line, "data: ")
		b.WriteString(gjson.Get(line, path).Str)
	}
	return b.String()
}

// A secret that a model says word by word is taken out, in whatever form its
// words come, and the events stay what they are otherwise.
func TestExchangeTakesOutWhatComesInDeltas(t *testing.T) {
	const key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
	rng := rand.New(rand.NewPCG(31, 32))
	r, err := New(Options{Environ: []string{"MY_API_KEY=c0rrect \"hOrse\" b4ttery"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, form := range map[string]struct{ event, path string }{
		"chat":      {`data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":%s}}]}`, "choices.0.delta.content"},
		"anthropic": {`data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":%s}}`, "delta.partial_json"},
		"responses": {`data: {"type":"response.output_text.delta","item_id":"msg_1","delta":%s,"obfuscation":"zKq"}`, "delta"},
		"ollama":    {`{"model":"m","message":{"role":"assistant","content":%s},"done":false}`, "message.content"},
	} {
		for range 60 {
			text := "The key is " + key + ", then \"é\\\" and c0rrect \"hOrse\" b4ttery\nand on."
			var events []string
			var pieces []store.Piece
			for rest := text; rest != ""; {
				n := min(len(rest), 1+rng.IntN(9))
				for n < len(rest) && rest[n]&0xc0 == 0x80 {
					n++
				}
				word, err := json.Marshal(rest[:n])
				if err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
				event := fmt.Sprintf(form.event, word) + "\n\n"
				events = append(events, event)
				pieces = append(pieces, store.Piece{Bytes: []byte(event)})
				if rng.IntN(3) == 0 { // another text in between, in its own place
					pieces = append(pieces, store.Piece{Bytes: []byte(`data: {"type":"content_block_delta","index":9,"delta":{"thinking":"hm"}}` + "\n\n")})
				}
			}
			x := store.Exchange{Pieces: pieces}
			if found := r.FindExchange(&x); len(found) != 2 || found[0].Where != "answer (in pieces)" {
				t.Fatalf("%s: found %+v in %q", name, found, events)
			}
			r.Exchange(&x)
			joined := ""
			for i, p := range x.Pieces {
				line := strings.TrimSpace(strings.TrimPrefix(string(p.Bytes), "data: "))
				if !dialect.Valid([]byte(line)) {
					t.Fatalf("%s: piece %d has become %q", name, i, p.Bytes)
				}
				joined += string(p.Bytes)
			}
			got := said(joined, form.path)
			if strings.Contains(got, "sk-") || strings.Contains(got, "c0rrect") || strings.Contains(got, "hOrse") || strings.Contains(got, "b4ttery") {
				t.Fatalf("%s: it still says %q", name, got)
			}
			want := strings.Replace(text, key, r.Token("openai", []byte(key)), 1)
			want = strings.Replace(want, "c0rrect \"hOrse\" b4ttery", r.Token("api_key", []byte("c0rrect \"hOrse\" b4ttery")), 1)
			if got != want {
				t.Fatalf("%s: it says %q, want %q", name, got, want)
			}
			if found := r.FindExchange(&x); len(found) > 0 {
				t.Fatalf("%s: still found %+v", name, found)
			}
		}
	}
}

// Texts that come in turns are not mixed up.
func TestExchangeKeepsTextsApart(t *testing.T) {
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	answer := ""
	for i, word := range []string{"sk-proj-abcdefghijklm", "nopqrstuvwxyz0123456789ABCD"} {
		answer += fmt.Sprintf(`data: {"choices":[{"index":%d,"delta":{"content":%q}}]}`+"\n\n", i, word)
	}
	x := store.Exchange{Pieces: pieces(answer)}
	r.Exchange(&x)
	for _, h := range r.splitHits([]byte(answer)) {
		t.Errorf("the texts of two choices are one: %+v", h.pieces)
	}
}

// What is settled of an answer that goes on holds no beginning of a secret,
// wherever it ends, and all whole lines are settled when no word is open.
func TestSettled(t *testing.T) {
	answer := "event: start\ndata: {\"type\":\"start\"}\n\n"
	for _, word := range []string{"It ", "is ", "sk-p", "roj-abcdefgh", "ijklmnopqrstuvwxyz01", "23456789ABCD", " and", " on", ". "} {
		answer += fmt.Sprintf("data: {\"id\":\"same\",\"delta\":%q}\n\n", word)
	}
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for n := range len(answer) + 1 {
		k := settled([]byte(answer[:n]))
		if k < most || k > n {
			t.Fatalf("of %d bytes %d are settled, before %d", n, k, most)
		}
		most = k
		x := store.Exchange{Pieces: pieces(answer[:k])}
		r.Exchange(&x)
		if got := said(string(x.Pieces[0].Bytes), "delta"); strings.Contains(got, "sk-") || strings.Contains(got, "abcdefgh") {
			t.Fatalf("of %q this is settled: %q", answer[:n], got)
		}
	}
	if most != len(answer) {
		t.Errorf("of the whole answer only %d of %d bytes are settled", most, len(answer))
	}
	for text, want := range map[string]int{"": 0, "no line": 0, "a line\nand": 7, "data: {\"a\":\"b\"}\n\n": 17, "{\"a\":\"b\"}\n{\"a\":\"b\"}\n": 20} {
		if got := settled([]byte(text)); got != want {
			t.Errorf("of %q %d bytes are settled, want %d", text, got, want)
		}
	}
}

// Settled pieces are the beginning of the pieces, the last one cut.
func TestSettledPieces(t *testing.T) {
	for _, c := range []struct {
		list []string
		want string
	}{
		{nil, "[]"},
		{[]string{"a"}, "[]"},
		{[]string{"a\n"}, `["a\n"]`},
		{[]string{"a\nb"}, `["a\n"]`},
		{[]string{"a", "\nb", "c"}, `["a" "\n"]`},
		{[]string{"a", "\n", "c"}, `["a" "\n"]`},
		{[]string{"a", "", "\n\n", "c\n", "d"}, `["a" "" "\n\n" "c\n"]`},
		{[]string{strings.Repeat("x", longestDeltas) + "\n", "b\nc", "d"}, ""},
	} {
		list := pieces(c.list...)
		got := fmt.Sprintf("%q", bytesOf(Settled(nil, list)))
		if c.want == "" {
			c.want = fmt.Sprintf("%q", []string{c.list[0], "b\n"})
		}
		if got != c.want {
			t.Errorf("of %.60q this is settled: %.60s, want %.60s", c.list, got, c.want)
		}
		for i, p := range list {
			if string(p.Bytes) != c.list[i] {
				t.Errorf("piece %d has changed", i)
			}
		}
	}
	if got := Settled([]store.Field{{Name: "Content-Encoding", Value: "gzip"}}, pieces("a\n")); len(got) > 0 {
		t.Errorf("of a compressed answer %q is settled", got)
	}
}
