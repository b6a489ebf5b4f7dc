package redact

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"agentrec/store"
)

func pieces(list ...string) []store.Piece {
	out := make([]store.Piece, len(list))
	for i, p := range list {
		out[i] = store.Piece{Time: time.Duration(i), Bytes: []byte(p)}
	}
	return out
}

func TestExchange(t *testing.T) {
	const key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
	r, err := New(Options{Environ: []string{"MY_API_KEY=correct horse battery"}})
	if err != nil {
		t.Fatal(err)
	}
	body := `{"model":"m","tools":[{"type":"mcp","headers":{"X-Who":"plain words"}}],"metadata":{"user_id":"user_1_account_2"},"messages":["` + key + `"]}`
	x := store.Exchange{
		URL:    "https://me:hunter2hunter2@api.example/v1?key=plainvalue1234&alt=sse#access_token=plainvalue5678",
		Header: []store.Field{{Name: "Authorization", Value: "Bearer " + key}, {Name: "content-length", Value: fmt.Sprint(len(body))}, {Name: "X-Plain", Value: "stays"}},
		Body:   []byte(body), Answer: []store.Field{{Name: "Set-Cookie", Value: "session=abcdefgh12345678"}, {Name: "Content-Length", Value: "90"}},
		Pieces: pieces("data: say "+key[:20], key[20:40], key[40:]+" twice\n\n", "data: correct ", "horse battery\n\n"),
		Error:  "dial https://me:hunter2hunter2@api.example: refused",
	}
	was := fmt.Sprintf("%+v", x)
	before := bytes.Clone(x.Pieces[0].Bytes)
	held := x.Pieces
	r.Exchange(&x)
	all := fmt.Sprintf("%s %v %s %v %s", x.URL, x.Header, x.Body, x.Answer, x.Error)
	for _, p := range x.Pieces {
		all += string(p.Bytes)
	}
	for _, secret := range []string{key, key[:20], key[20:40], "hunter2", "plainvalue", "abcdefgh12345678", "plain words", "account_2", "correct horse", "horse battery"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q is left in %s\nof %s", secret, all, was)
		}
	}
	for _, kept := range []string{"Authorization Bearer <redacted:", "alt=sse", "api.example/v1", "X-Plain stays", `"model":"m"`, "X-Who"} {
		if !strings.Contains(all, kept) {
			t.Errorf("%q is gone from %s", kept, all)
		}
	}
	if store.FieldOf(x.Header, "Content-Length") != fmt.Sprint(len(x.Body)) || store.FieldOf(x.Answer, "content-length") != "90" {
		t.Errorf("the lengths are %v and %v", x.Header, x.Answer)
	}
	if len(x.Pieces) != 5 || string(x.Pieces[1].Bytes) != "" || string(x.Pieces[2].Bytes) != " twice\n\n" || string(x.Pieces[4].Bytes) != "\n\n" || x.Pieces[3].Time != 3 {
		t.Errorf("the pieces are %q", x.Pieces)
	}
	if !bytes.Equal(held[0].Bytes, before) {
		t.Error("the bytes of others have changed")
	}
	again := fmt.Sprintf("%+v", x)
	if r.Exchange(&x); fmt.Sprintf("%+v", x) != again {
		t.Error("a second time it changes again")
	}
}

// However an answer is cut into pieces, joined it is what a whole one becomes,
// and what no secret touches keeps its borders.
func TestExchangeBorders(t *testing.T) {
	const key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
	rng := rand.New(rand.NewPCG(7, 8))
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		var text strings.Builder
		for range rng.IntN(8) {
			text.WriteString([]string{"data: word\n\n", key, " ", `{"a":"` + key + `"}`, "\n", "Bearer " + key}[rng.IntN(6)])
		}
		whole := r.Text([]byte(text.String()))
		var cut []string
		for rest := text.String(); rest != ""; {
			n := 1 + rng.IntN(min(len(rest), 30))
			cut = append(cut, rest[:n])
			rest = rest[n:]
		}
		x := store.Exchange{Pieces: pieces(cut...)}
		r.Exchange(&x)
		joined := ""
		for _, p := range x.Pieces {
			joined += string(p.Bytes)
		}
		if joined != string(whole) || len(x.Pieces) != len(cut) {
			t.Fatalf("%q becomes %q, whole it becomes %q", cut, joined, whole)
		}
		at, now := 0, 0
		for i, p := range cut {
			if strings.HasSuffix(text.String()[:at+len(p)], "\n\n") && !strings.HasSuffix(joined[:now+len(x.Pieces[i].Bytes)], "\n\n") {
				t.Fatalf("the border of piece %d of %q has moved in %q", i, cut, x.Pieces)
			}
			at, now = at+len(p), now+len(x.Pieces[i].Bytes)
		}
	}
}

// Of a long body no more than a stretch is looked at at once; it gives the same.
func TestExchangeLong(t *testing.T) {
	const key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
	rng := rand.New(rand.NewPCG(9, 9))
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	token := r.Token("openai", []byte(key))
	for _, json := range []bool{false, true} {
		var list []string
		var want []string
		for size := 0; size < store.MaxRaw+1<<20; {
			p := strings.Repeat("some words ", rng.IntN(3000))
			if rng.IntN(20) == 0 {
				n := rng.IntN(len(key))
				list, want = append(list, p+key[:n], key[n:]+" "), append(want, p+token, " ")
				if n == 0 {
					want[len(want)-2], want[len(want)-1] = p, token+" "
				}
			} else {
				list, want = append(list, p), append(want, p)
			}
			size += len(p)
		}
		if json {
			list, want = append(append([]string{`{"a":"`}, list...), `"}`), append(append([]string{`{"a":"`}, want...), `"}`)
		}
		x := store.Exchange{Pieces: pieces(list...)}
		if found := r.FindExchange(&x); len(found) < 10 {
			t.Errorf("only %d are found", len(found))
		}
		r.Exchange(&x)
		for i, p := range x.Pieces {
			if string(p.Bytes) != want[i] {
				t.Fatalf("piece %d of %d is %.60q...%q, want %.60q...%q", i, len(list), p.Bytes, tail(string(p.Bytes)), want[i], tail(want[i]))
			}
		}
		x = store.Exchange{Body: []byte(strings.Join(list, ""))}
		if r.Exchange(&x); string(x.Body) != strings.Join(want, "") {
			t.Error("the request has become something else")
		}
	}
	// A secret that is longer than a stretch goes whole.
	x := store.Exchange{Body: []byte("password=" + strings.Repeat("x1Y", 3<<20) + " " + strings.Repeat("word ", 3<<20))}
	if r.Exchange(&x); strings.Contains(string(x.Body), "x1Y") || len(x.Body) < 5*3<<20 {
		t.Errorf("it has become %d bytes: %.100q", len(x.Body), x.Body)
	}
}

func tail(s string) string { return s[max(0, len(s)-60):] }
