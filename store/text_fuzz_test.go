package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// A frame's bytes, whatever they are, survive the text form; a giant's too.
func FuzzText(f *testing.F) {
	for _, s := range hard {
		f.Add([]byte(s), uint8(0), int64(5))
	}
	f.Fuzz(func(t *testing.T, raw []byte, kind uint8, at int64) {
		raw = bytes.ReplaceAll(raw, []byte("\n"), nil)
		db := temp(t)
		w := begin(t, db, Start{})
		k := []Terminator{LF, CRLF, None}[kind%3]
		w.Frame(Stream(kind/3%3), time.Duration(at%1e15)*time.Microsecond, raw, k)
		w.part(Out, raw)
		w.part(Out, []byte(`","`))
		w.endParts(Out, 0, k)
		w.Exchange(hardExchange(string(raw), time.Duration(at%1e15)*time.Microsecond, kind))
		w.Event(Event{Kind: EventKind(bytes.ToValidUTF8(append([]byte("x"), raw...), nil)), Detail: string(raw)})
		closeWriter(t, w)
		first := export(t, w.Session())
		second, s := again(t, first)
		if !bytes.Equal(first, second) || s.Chains != w.seen.Chains || s.exchangeChain != w.seen.exchangeChain || s.Edited {
			t.Fatalf("%q comes back otherwise:\n%s\n%s", raw, first, second)
		}
	})
}

// Any text either is refused or, once read, always gives the same.
func FuzzReadText(f *testing.F) {
	db, err := OpenTemp(context.Background())
	if err != nil {
		f.Fatal(err)
	}
	defer db.Close()
	var b bytes.Buffer
	WriteText(context.Background(), &b, hardSession(f, db))
	f.Add(b.Bytes())
	f.Add([]byte("{\"agentrec\":1}\n[\"in\",0,{}]\r\n[\"out:text\" , -0 , \"\\ud83d\\ude00\\u0041\" , \"eof\" ]\n"))
	f.Add([]byte(`{"agentrec":1}` + "\n" + `["exchange",0,{"body:text":"","pieces":[[0,"a"]],"end":"x"}]`))
	f.Add([]byte("{\"agentrec\":1,\"uid\":\"a\"}\n[\"in:base64\",9,\"AAECAw==\",\"crlf\"]\n[\"proof\",3,{\"state\":\"closed\"}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := temp(t).ReadText(t.Context(), bytes.NewReader(text), "x")
		if err != nil {
			if !errors.Is(err, ErrUnusable) && !errors.Is(err, ErrExists) {
				t.Fatal(err)
			}
			return
		}
		for _, s := range list {
			first := export(t, s)
			if second, _ := again(t, first); !bytes.Equal(first, second) {
				t.Fatalf("exported\n%s\nthen\n%s", first, second)
			}
		}
	})
}

// Fuzzing instruments SQLite and is slow; this tries many small damages fast.
func TestDamagedTextIsRefusedOrStable(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	whole := export(t, hardSession(t, temp(t)))
	read := 0
	for range 150 {
		text := bytes.Clone(whole)
		for range 1 + rng.IntN(2) {
			i := rng.IntN(len(text))
			switch rng.IntN(4) {
			case 0:
				text[i] = byte(rng.IntN(256))
			case 1:
				text = append(text[:i], text[min(len(text), i+1+rng.IntN(9)):]...)
			case 2:
				text = slices.Insert(text, i, whole[:rng.IntN(90)]...)
			case 3:
				text[i] = "\"\\[]{},:0e\n"[rng.IntN(11)]
			}
			if len(text) == 0 {
				break
			}
		}
		list, err := temp(t).ReadText(t.Context(), bytes.NewReader(text), "x")
		if err != nil {
			if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "x line ") {
				t.Fatalf("%v in\n%s", err, text)
			}
			continue
		}
		read++
		for _, s := range list {
			first := export(t, s)
			if second, _ := again(t, first); !bytes.Equal(first, second) {
				t.Fatalf("exported\n%s\nthen\n%s", first, second)
			}
		}
	}
	if read == 0 || read == 150 {
		t.Errorf("%d of 150 damaged texts are read", read)
	}
}

func BenchmarkOpenTemp(b *testing.B) {
	for b.Loop() {
		db, err := OpenTemp(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		db.Close()
	}
}

func BenchmarkText(b *testing.B) {
	db, err := OpenTemp(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	w := begin(b, db, Start{})
	frame := []byte(`{"type":"runtime_event","event":{"runtimeEventType":"text_delta","delta":"some words of text, ` + strings.Repeat("x", 80) + `"}}`)
	for i := range 100_000 {
		w.Frame(Out, time.Duration(i)*time.Microsecond, frame, LF)
	}
	closeWriter(b, w)
	text := export(b, w.Session())
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if err := WriteText(b.Context(), io.Discard, w.Session()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			db, err := OpenTemp(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if err := db.readText(b.Context(), bytes.NewReader(text), "x"); err != nil {
				b.Fatal(err)
			}
			db.Close()
		}
	})
}
