package redact

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// giant redacts a frame in parts of random lengths.
func giant(r *Redactor, rnd *rand.Rand, frame []byte) []byte {
	g := r.Stream(false)
	var out []byte
	for len(frame) > 0 {
		n := min(1+rnd.IntN(200_000), len(frame))
		out = append(out, g.Next(frame[:n])...)
		frame = frame[n:]
	}
	return append(out, g.End()...)
}

// TestGiantIsFrame plants secrets all over long frames, also over the edges of
// windows: parts must give what the whole gives.
func TestGiantIsFrame(t *testing.T) {
	r := testRedactor(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	quoted, _ := json.Marshal(envSecret)
	secrets := []string{`"api_key":"one-word"`, `"t":"sk-ant-api03-AbCdEf0123456789abcdef"`, `"t":` + string(quoted),
		`"password":123456`, `"t":"{\"password\":\"a\\\"b\"}"`, `"u":"\u0041\\` + strings.Repeat(`\\`, 700) + `"`, `"authorization":"Bearer abc"`}
	for range 3 {
		var b bytes.Buffer
		b.WriteString(`{"begin":1`)
		for b.Len() < 1_400_000 {
			b.WriteString(`,"filler":"`)
			b.WriteString(strings.Repeat(`text\n\"quoted\" `, rnd.IntN(12_000)))
			b.WriteString(`",`)
			b.WriteString(secrets[rnd.IntN(len(secrets))])
		}
		b.WriteString(`}`)
		frame := b.Bytes()
		if !dialect.Valid(frame) {
			t.Fatal("the test's frame is not JSON")
		}
		want := r.Frame(store.Out, frame)
		got := giant(r, rnd, frame)
		if !bytes.Equal(got, want) {
			i := 0
			for i < min(len(got), len(want)) && got[i] == want[i] {
				i++
			}
			t.Fatalf("differs at %d of %d: %.80q, whole: %.80q", i, len(frame), got[max(i-40, 0):], want[max(i-40, 0):])
		}
	}
}

func TestGiantLongSecret(t *testing.T) {
	r := testRedactor(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, test := range []struct{ before, secret, after string }{
		{`{"password":"`, strings.Repeat(`ab\"c `, 300_000), `","x":"y"}`},
		{`{"t":"{\"password\":\"`, strings.Repeat(`ab\\\"c `, 300_000), `\",\"x\":1}"}`},
		{`{"t":"`, "sk-ant-" + strings.Repeat(`abc12`, 300_000), ` rest"}`},
	} {
		got := giant(r, rnd, []byte(test.before+test.secret+test.after))
		if !bytes.HasPrefix(got, []byte(test.before+"<redacted:")) || !bytes.HasSuffix(got, []byte(">"+test.after)) || len(got) > 1000 {
			t.Errorf("%s...: %d bytes: %.100q ... %.100q", test.before, len(got), got, got[max(len(got)-100, 0):])
		}
	}
}

func TestGiantMemory(t *testing.T) {
	r := testRedactor(t)
	g := r.Giant()
	part := bytes.Repeat([]byte(`{"password":"x","t":"\\\\" `), 3000)
	for range 200 {
		g.Next(part)
	}
	if n := cap(g.buf) + cap(g.out); n > 8<<20 {
		t.Errorf("a giant of %d bytes keeps %d bytes", 200*len(part), n)
	}
}

// TestGiantBeginsAgain: what was learned meanwhile changes nothing for a giant
// of a recording.
func TestGiantBeginsAgain(t *testing.T) {
	r := testRedactor(t)
	frame := []byte(`{"t":"local-k3y-0001 and sk-ant-api03-AbCdEf0123456789abcdef"}`)
	run := func(g *Giant) string { return string(append(bytes.Clone(g.Next(frame)), g.End()...)) }
	first := run(r.Giant())
	r.Learn(store.In, []byte(`{"api_key":"local-k3y-0001"}`))
	if again := run(r.Giant()); again != first {
		t.Errorf("%s became %s", first, again)
	}
	if got := show([]byte(run(r.Stream(false)))); got != `{"t":"«api_key» and «anthropic»"}` {
		t.Errorf("a stream gives %s", got)
	}
}
