package redact

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// planted are secrets that must be found wherever they stand.
var planted = []string{envSecret, "Zx81-plain-pw", "dotenv-8fj29dk2", "sk-ant-api03-AbCdEf0123456789abcdef",
	"github_pat_11ABCDEFG0123456789abcdefgh", "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234567890abcdefghijklmnop\n-----END PRIVATE KEY-----"}

// encode writes s as the inside of a JSON string, as one of many encoders
// would: any byte may stand as a number.
func encode(rnd *rand.Rand, s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c < 0x80 && rnd.IntN(12) == 0:
			fmt.Fprintf(&b, []string{`\u%04x`, `\u%04X`}[rnd.IntN(2)], c)
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '/' && rnd.IntN(2) == 0:
			b.WriteString(`\/`)
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// exposed reports whether a secret can be read in b, at any depth of escapes.
func exposed(b []byte, secret string) bool {
	for v := (&view{text: b}); v != nil; v = decodeView(v) {
		if bytes.Contains(v.text, []byte(secret)) {
			return true
		}
	}
	return false
}

// laws checks what holds for any frame, and returns it redacted.
func laws(t *testing.T, r *Redactor, frame []byte) []byte {
	t.Helper()
	before := bytes.Clone(frame)
	got := r.Frame(store.Out, frame)
	if !bytes.Equal(before, frame) {
		t.Fatalf("the input was changed: %q", before)
	}
	if dialect.Valid(frame) && !dialect.Valid(got) {
		t.Fatalf("no longer JSON: %q became %q", frame, got)
	}
	if again := r.Frame(store.Out, got); !bytes.Equal(again, got) {
		t.Fatalf("a second pass changes it: %q, %q, %q", frame, got, again)
	}
	if hits := r.Find(store.Out, got); len(hits) > 0 {
		t.Fatalf("there is still %v in %q", hits, got)
	}
	if s := (&search{engine: r.engine.Load(), rules: r.rules, frame: frame}); !s.suspect(frame) {
		if s.run(dialect.Paths{}); len(s.hits) > 0 {
			t.Fatalf("the first look missed %v in %q", s.hits, frame)
		}
	}
	for x := frame; ; {
		hits := r.find(store.Out, x)
		if len(hits) == 0 {
			return got
		}
		y := r.replace(x, hits)
		at, rest := 0, y
		for _, h := range hits {
			gap := string(x[at:max(h.start, at)]) + h.quote
			start, end := NextToken(rest[min(len(gap), len(rest)):])
			if h.start < at || h.end <= h.start || h.end > len(x) || start != 0 || string(rest[:len(gap)]) != gap {
				t.Fatalf("hit %v of %q: %q", h, x, y)
			}
			at, rest = h.end, rest[len(gap)+end+len(h.quote):]
		}
		if !bytes.Equal(rest, x[at:]) {
			t.Fatalf("the end of %q became %q", x, rest)
		}
		x = y
	}
}

func FuzzFrame(f *testing.F) {
	r := testRedactor(f)
	for _, s := range []string{`{"api_key":"x","password":12345,"t":"sk-ant-api03-AbCdEf0123456789abcdef"}`, "DB_PASSWORD=" + envSecret,
		`{"a":"{\"token\":\"abcdefgh12345678ij\"}"}`, "https://u:p@h", `<redacted:api_key:1>sk-`, "Authorization: Basic dXNlcjpwYXNz", "AKIA0123456789ABCDEF"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) { laws(t, r, frame) })
}

// FuzzPlanted puts a secret between two texts, at some depth of JSON strings.
func FuzzPlanted(f *testing.F) {
	r := testRedactor(f)
	f.Add("before ", " after", uint64(1), uint8(0))
	f.Add(`{"api_key":"`, `"}`, uint64(2), uint8(9))
	f.Add(`C:\n`, `\`, uint64(3), uint8(3))
	f.Fuzz(func(t *testing.T, before, after string, seed uint64, choice uint8) {
		plant(t, r, rand.New(rand.NewPCG(seed, 5)), before, after, int(choice))
	})
}

func plant(t *testing.T, r *Redactor, rnd *rand.Rand, before, after string, choice int) {
	secret := planted[choice%len(planted)]
	if !strings.HasSuffix(before, " ") { // a key begins at the beginning of a word
		before += " "
	}
	if strings.Contains(before, "-----BEGIN") {
		return
	}
	inner := before + secret + " " + after
	depth := choice / len(planted) % 5
	for range depth {
		inner = `{"k":"` + encode(rnd, inner) + `"}`
	}
	got := laws(t, r, []byte(inner))
	if exposed(got, secret) {
		t.Fatalf("%q survives in %q (from %q)", secret, got, inner)
	}
}

// TestPlanted runs the laws over generated texts that look like what stands
// around secrets.
func TestPlanted(t *testing.T) {
	r := testRedactor(t)
	rnd := rand.New(rand.NewPCG(11, 12))
	words := []string{`"`, `\`, `\\`, `\"`, `{"`, `":"`, `","`, `"}`, "api_key", "password", "token", "=", ":", " ", "\n", "x", "9", "Bearer ", "sk-", "sk-ant-", "eyJ", ".",
		"<redacted:", "<redacted:api_key:1>", "://", "@", "AKIA", `\u0041`, `\n`, `\u00`, "--", "'", "`", "[", "]", ",", "-----BEGIN PRIVATE KEY-----", "é", "\x00", "\xff", "abcdefgh12345678ijkl"}
	text := func() string {
		var b strings.Builder
		for range rnd.IntN(12) {
			b.WriteString(words[rnd.IntN(len(words))])
		}
		return b.String()
	}
	for range 20_000 {
		plant(t, r, rnd, text(), text(), rnd.IntN(30))
	}
}
