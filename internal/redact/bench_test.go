package redact

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// BenchmarkFrame measures frames without secrets (the hot path), with one, and
// the phi dialect's paths on top.
func BenchmarkFrame(b *testing.B) {
	r, err := New(Options{Key: make([]byte, 32), Environ: os.Environ()})
	if err != nil {
		b.Fatal(err)
	}
	phi, err := dialect.Builtin("phi")
	if err != nil {
		b.Fatal(err)
	}
	withDialect, err := New(Options{Key: make([]byte, 32)})
	if err != nil {
		b.Fatal(err)
	}
	withDialect.SetDialect(phi)
	secret := bytes.Replace(cleanText(2048), []byte("Println"), []byte("sk-ant-api03-AbCdEf0123456789abcdef"), 1)
	for _, bench := range []struct {
		name  string
		r     *Redactor
		frame []byte
	}{
		{"clean", r, cleanFrame(2048)},
		{"clean-escapes", r, cleanText(2048)},
		{"clean-64K", r, cleanText(64 << 10)},
		{"clean-phi", withDialect, []byte(`{"type":"event","seq":1,"payload":` + string(cleanText(2048)) + `}`)},
		{"secret", r, secret},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.frame)))
			b.ReportAllocs()
			for b.Loop() {
				bench.r.Frame(store.Out, bench.frame)
			}
		})
	}
}

// BenchmarkHostile measures frames made to cost much; the time a byte must not
// grow with the length.
func BenchmarkHostile(b *testing.B) {
	r, err := New(Options{Key: make([]byte, 32)})
	if err != nil {
		b.Fatal(err)
	}
	for _, unit := range []string{"sk-", "sk-ant-", "eyJ-", "password=", `password":"`, `"password":`, "-----BEGIN PRIVATE KEY-----", "://a", `\`, `\\u005c`,
		"a_token=b1", "<redacted:", "AKIA", "Bearer ", `{"password":`, `{"password":{`, `"apiKeys":["a",`, `"auth":{"a":"b",`, "KEY=", "SG."} {
		for _, n := range []int{64 << 10, 1 << 20} {
			frame := bytes.Repeat([]byte(unit), n/len(unit))
			b.Run(fmt.Sprintf("%q-%dK", unit, n>>10), func(b *testing.B) {
				b.SetBytes(int64(len(frame)))
				for b.Loop() {
					r.Find(store.Out, frame)
				}
			})
		}
	}
}

// BenchmarkLearn measures a session in which as many secrets are learned as may
// be, one by one.
func BenchmarkLearn(b *testing.B) {
	for _, length := range []int{16, 64, 4000} {
		b.Run(fmt.Sprint(length), func(b *testing.B) {
			for b.Loop() {
				r, err := New(Options{Key: make([]byte, 32)})
				if err != nil {
					b.Fatal(err)
				}
				for i := range mostLearned {
					r.Frame(store.Out, fmt.Appendf(nil, `{"api_key":"%0*x"}`, length, uint64(i+1)*0x9e3779b97f4a7c15))
				}
			}
		})
	}
}

// BenchmarkExchange redacts an answer of 1 MiB in small events, and finds how
// much of it is settled, as the drain of a recording does while it grows.
func BenchmarkExchange(b *testing.B) {
	r, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	var answer []byte
	var list []store.Piece
	for i := 0; len(answer) < 1<<20; i++ {
		event := fmt.Appendf(nil, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":" word%d"}}]}`+"\n\n", i)
		answer = append(answer, event...)
		list = append(list, store.Piece{Bytes: event})
	}
	b.Run("redact", func(b *testing.B) {
		b.SetBytes(int64(len(answer)))
		for b.Loop() {
			x := store.Exchange{Pieces: list}
			r.Exchange(&x)
		}
	})
	b.Run("settled", func(b *testing.B) {
		b.SetBytes(int64(len(answer)))
		for b.Loop() {
			Settled(nil, list)
		}
	})
}
