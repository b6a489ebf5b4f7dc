package redact

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"agentrec/store"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

type encoder interface {
	io.WriteCloser
	Flush() error
}

// compress compresses texts, each flushed by itself as servers do that stream, and
// returns what came out for each.
func compress(t *testing.T, encoding string, texts ...string) []string {
	t.Helper()
	var b bytes.Buffer
	var w encoder
	var err error
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "bare":
		w, err = flate.NewWriter(&b, 5)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, err = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i, text := range texts {
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if i == len(texts)-1 {
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, b.String())
		b.Reset()
	}
	return out
}

// A secret in a compressed body is found and taken out, with the pieces kept; a
// compressed body without one stays as it is.
func TestExchangeCompressed(t *testing.T) {
	const key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, encoding := range []string{"gzip", "deflate", "bare", "br", "zstd"} {
		name := strings.Replace(encoding, "bare", "deflate", 1)
		make := func(request string, answer ...string) store.Exchange {
			body := compress(t, encoding, request)[0]
			return store.Exchange{
				Header: []store.Field{{Name: "Content-Encoding", Value: name}, {Name: "Content-Length", Value: fmt.Sprint(len(body))}},
				Body:   []byte(body), Answer: []store.Field{{Name: "content-encoding", Value: strings.ToUpper(name)}},
				Pieces: pieces(compress(t, encoding, answer...)...),
			}
		}
		x := make(`{"key":"nothing"}`, "data: a\n\n", "data: b\n\n")
		was := fmt.Sprintf("%v", x)
		if found := r.FindExchange(&x); len(found) > 0 {
			t.Errorf("%s: found %+v where nothing is", encoding, found)
		}
		if r.Exchange(&x); fmt.Sprintf("%v", x) != was {
			t.Errorf("%s: a body without secrets has changed", encoding)
		}
		x = make(`{"say":"`+key+`"}`, "data: a\n\n", "data: "+key[:20], key[20:]+"\n\n", "data: b\n\n")
		if found := r.FindExchange(&x); len(found) != 2 {
			t.Errorf("%s: found %+v", encoding, found)
		}
		r.Exchange(&x)
		token := r.Token("openai", []byte(key))
		if string(x.Body) != `{"say":"`+token+`"}` || len(x.Header) != 1 || x.Header[0].Value != fmt.Sprint(len(x.Body)) || len(x.Answer) != 0 {
			t.Errorf("%s: the request has become %q, %v, the answer %v", encoding, x.Body, x.Header, x.Answer)
		}
		if got := bytesOf(x.Pieces); len(got) != 4 || string(got[0]) != "data: a\n\n" || string(got[1]) != "data: "+token || string(got[2]) != "\n\n" || string(got[3]) != "data: b\n\n" {
			t.Errorf("%s: the pieces have become %q", encoding, got)
		}
		// An answer that was cut is looked at as far as it goes.
		x = make(`{}`, "data: "+key+"\n\n", "data: more\n\n")
		x.Pieces = x.Pieces[:1]
		if r.Exchange(&x); string(x.Pieces[0].Bytes) != "data: "+token+"\n\n" {
			t.Errorf("%s: the cut answer has become %q", encoding, x.Pieces[0].Bytes)
		}
	}
	// One encoding may stand in another.
	inner := compress(t, "br", `{"say":"`+key+`"}`)[0]
	x := store.Exchange{Header: []store.Field{{Name: "Content-Encoding", Value: "br, identity, GZIP"}}, Body: []byte(compress(t, "gzip", inner)[0])}
	if r.Exchange(&x); string(x.Body) != `{"say":"`+r.Token("openai", []byte(key))+`"}` || len(x.Header) != 0 {
		t.Errorf("br in gzip has become %q, %v", x.Body, x.Header)
	}
	// What unpacks to too much, or not at all, stays.
	bomb := compress(t, "gzip", strings.Repeat("0", store.MaxRequestBody+1))[0]
	for _, x := range []store.Exchange{
		{Header: []store.Field{{Name: "Content-Encoding", Value: "gzip"}}, Body: []byte(bomb)},
		{Header: []store.Field{{Name: "Content-Encoding", Value: "gzip"}}, Body: []byte("plain text")},
		{Header: []store.Field{{Name: "Content-Encoding", Value: "br"}}, Body: []byte("plain text")},
		{Header: []store.Field{{Name: "Content-Encoding", Value: "compress"}}, Body: []byte("\x1f\x9d\x90abc")},
		{Header: []store.Field{{Name: "Content-Encoding", Value: "gzip, gzip, gzip, gzip"}}, Body: []byte("plain text")},
	} {
		was := string(x.Body)
		if r.Exchange(&x); string(x.Body) != was || len(x.Header) != 1 {
			t.Errorf("%.20q has become %.20q", was, x.Body)
		}
	}
}
