package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"agentrec/store"
)

// hostile is text that tries to leave the place it is shown in: every control
// character, terminal escapes, bidirectional and invisible characters, markup,
// tview tags.
func hostile() string {
	var b strings.Builder
	for c := range 0x20 {
		b.WriteByte(byte(c))
	}
	for c := rune(0x7f); c < 0xa0; c++ {
		b.WriteRune(c)
	}
	return b.String() + "\x1b[2J\x1b]0;owned\a\x1b]52;c;b3duZWQ=\x1b\\\x1bPq\x1b\\\u009b31m" +
		"\u202edesrever\u202c\u2066\u2069\u200b\ufeff\U000e0041" +
		`[red]tag["region"][""][::b]<script>alert(1)</script><img src=x onerror=alert(2)>"'</style></title>{{.}}&amp;`
}

// hostileSteps is a phi conversation that says nothing but hostile text, in
// every place that a view shows.
func hostileSteps(t testing.TB) []step {
	t.Helper()
	say := func(format string) string {
		j, err := json.Marshal(hostile())
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(format, "H", string(j))
	}
	// Control characters also as they are: frames need not be escaped JSON.
	direct := strings.ReplaceAll(hostile(), "\n", "")
	return []step{
		{store.Out, say(`{"type":"hello","protocol_version":1,"server_name":H,"server_version":H}`)},
		{store.In, say(`{"type":"run","session_id":H,"query":H}`)},
		{store.Out, say(`{"type":"event","runtimeEventType":"thoughtDelta","text":H}`)},
		{store.Out, say(`{"type":"event","runtimeEventType":"textDelta","text":H}`)},
		{store.Out, say(`{"type":"tool_call","call_id":"c1","name":H,"args":{H:H,"x":[H]}}`)},
		{store.In, say(`{"type":"tool_result","call_id":"c1","summary":H}`)},
		{store.Out, say(`{"type":"error","message":H}`)},
		{store.Out, say(`{"type":H}`)},
		{store.Out, "{\"type\":\"event\",\"runtimeEventType\":\"textDelta\",\"text\":\"\u009b31m\u202e\x7f\"}"},
		{store.Err, direct},
		{store.Out, direct},
		{store.Out, "\xff\xfe\x80 not UTF-8 \xc3"},
		{store.Out, ""},
		{store.Out, strings.Repeat("[", 100_000)},
		{store.Out, `{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`},
		{store.Out, say(`{"type":"done","outcome":H}`)},
	}
}

// recordHostile makes a database whose frames, name, tags and everything else
// are hostile.
func recordHostile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.db")
	db, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h := strings.ReplaceAll(hostile(), "\x00", "")
	w, err := db.Begin(t.Context(), store.Start{
		Name: h, Tags: map[string]string{h: h}, Started: time.Now(), Host: h, Cwd: h, Argv: []string{h, "phi"}, Version: h, Dialect: "phi",
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range hostileSteps(t) {
		w.Frame(s.stream, time.Duration(i)*time.Millisecond, []byte(s.raw), store.LF)
	}
	for _, x := range hostileExchanges(t) {
		w.Exchange(x)
	}
	w.Event(store.Event{Kind: store.EventLost, Stream: store.Out, Bytes: 3, Detail: h, Time: time.Second})
	if err := w.Close(t.Context(), store.End{State: store.Cut, Reason: h, Ended: time.Second, Wire: [store.Streams]int64{-1, -1, -1}}); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestHostileContentOnStdout(t *testing.T) {
	path := recordHostile(t)
	ctx := t.Context()
	run := map[string]func(out *bytes.Buffer) error{
		"ls": func(b *bytes.Buffer) error { return ls(ctx, lsOptions{File: path, Out: b, Now: time.Now()}) },
		"ls json": func(b *bytes.Buffer) error {
			return ls(ctx, lsOptions{File: path, Out: b, JSON: true, Now: time.Now()})
		},
		"show": func(b *bytes.Buffer) error { return show(ctx, showOptions{File: path, Out: b, Seq: seqs{From: 1}}) },
		"show json": func(b *bytes.Buffer) error {
			return show(ctx, showOptions{File: path, Out: b, JSON: true, Seq: seqs{From: 1}})
		},
		"frames": func(b *bytes.Buffer) error {
			return show(ctx, showOptions{File: path, Out: b, Frames: true, Seq: seqs{From: 1}})
		},
		"frames json": func(b *bytes.Buffer) error {
			return show(ctx, showOptions{File: path, Out: b, Frames: true, JSON: true, Seq: seqs{From: 1}})
		},
		"exchanges": func(b *bytes.Buffer) error { return show(ctx, showOptions{File: path, Out: b, Exchanges: true}) },
		"exchanges json": func(b *bytes.Buffer) error {
			return show(ctx, showOptions{File: path, Out: b, Exchanges: true, JSON: true})
		},
		"exchange": func(b *bytes.Buffer) error {
			return show(ctx, showOptions{File: path, Out: b, Exchange: exchangePart{Number: 1}})
		},
		"exchange json": func(b *bytes.Buffer) error {
			return show(ctx, showOptions{File: path, Out: b, Exchange: exchangePart{Number: 2}, JSON: true})
		},
		"error": func(b *bytes.Buffer) error {
			return show(ctx, showOptions{File: path, Out: b, Exchange: exchangePart{Number: 3}})
		},
		"stats": func(b *bytes.Buffer) error { return stats(ctx, statsOptions{File: path, Out: b}) },
		"grep": func(b *bytes.Buffer) error {
			return grep(ctx, grepOptions{Pattern: "owned", Files: []string{path}, Out: b})
		},
		"har json": func(b *bytes.Buffer) error { return oneLineJSON(t, b, exportOptions{File: path, HAR: true}) },
		"otlp json": func(b *bytes.Buffer) error {
			return oneLineJSON(t, b, exportOptions{File: path, OTLP: "-", Content: true})
		},
		"html": func(b *bytes.Buffer) error { return export(ctx, exportOptions{File: path, Out: b, HTML: true}) },
	}
	for name, do := range run {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := do(&b); err != nil {
				t.Fatal(err)
			}
			if b.Len() < 300 {
				t.Fatalf("only %q", b.String())
			}
			harmless(t, b.String(), true)
			if strings.HasSuffix(name, "json") {
				for l := range bytes.Lines(b.Bytes()) {
					if !json.Valid(l) {
						t.Fatalf("not JSON: %.200q", l)
					}
				}
			}
		})
	}
}

func TestHostileContentInHTML(t *testing.T) {
	var b bytes.Buffer
	if err := export(t.Context(), exportOptions{File: recordHostile(t), Out: &b, HTML: true}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	allowed := regexp.MustCompile(`^</?(html|head|meta|title|style|body|h1|h2|p|table|tr|th|td|nav|a|div|b|span|pre|hr|details|summary)( (class|id|href|lang|charset|name|http-equiv|content)="[^"<>]*")*>$|^<!DOCTYPE html>$`)
	for _, tag := range regexp.MustCompile(`<[^>]*>`).FindAllString(page, -1) {
		if !allowed.MatchString(tag) {
			t.Fatalf("a tag from the recording: %q", tag)
		}
	}
	if n := strings.Count(page, "<style>"); n != 1 {
		t.Errorf("%d styles", n)
	}
	for _, href := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(href[1], "#") {
			t.Errorf("a link that leaves the page: %q", href[1])
		}
	}
	if !strings.Contains(page, "&lt;script&gt;alert(1)") {
		t.Error("the recorded text is not on the page")
	}
}

func TestHostileContentOnTheScreen(t *testing.T) {
	path := recordHostile(t)
	for _, size := range [][2]int{{80, 24}, {60, 15}} {
		d := drive(t, path, size[0], size[1])
		look := func(where string) {
			t.Helper()
			d.rows()
			cells, w, _ := d.screen.GetContents()
			for i, c := range cells {
				if !utf8.Valid(c.Bytes) {
					t.Fatalf("%s: cell %d,%d holds bytes %q", where, i%w, i/w, c.Bytes)
				}
				for _, r := range c.Runes {
					if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
						t.Fatalf("%s: %U at %d,%d of the screen", where, r, i%w, i/w)
					}
				}
			}
		}
		d.settle()
		look("sessions")
		d.keys("Enter")
		look("timeline")
		d.keys("*")
		for range 40 {
			d.keys("PgDn")
			look("unfolded timeline")
		}
		d.keys("4").settle()
		look("findings")
		for _, v := range []string{"2", "3"} {
			d.keys(v, "g")
			for range 40 {
				look("view " + v)
				d.keys("PgDn")
			}
		}
		d.keys("5", "g")
		look("exchanges")
		for i := range hostileExchanges(t) {
			d.keys("g")
			for range i {
				d.keys("j")
			}
			d.keys("Enter")
			for _, mode := range []string{"1", "2", "3", "4", "5", "6"} {
				d.keys(mode)
				look("exchange " + fmt.Sprint(i+1) + " mode " + mode)
				d.keys("G")
				look("end of exchange " + fmt.Sprint(i+1) + " mode " + mode)
			}
			d.keys("Esc")
		}
		for i := range hostileSteps(t) {
			d.keys("3", ":").types(fmt.Sprint(i + 1)).keys("Enter")
			for _, mode := range []string{"1", "2", "3"} {
				d.keys(mode)
				look("frame " + fmt.Sprint(i+1) + " mode " + mode)
				d.keys("G")
				look("end of frame " + fmt.Sprint(i+1) + " mode " + mode)
			}
			d.keys("Esc")
		}
		d.keys("/").types(hostile()).settle()
		look("search")
		d.fail(os.ErrNotExist)
		d.say(toneError, hostile())
		look("message")
	}
}

// A line longer than what is handed out whole is shown by its beginning in
// every view, and its last bytes are there.
func TestGiantFrame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.db")
	db, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w, err := db.Begin(t.Context(), store.Start{Name: "giant", Dialect: "ndjson"})
	if err != nil {
		t.Fatal(err)
	}
	part := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	for i := range 18 {
		p := part
		if i == 0 {
			p = append([]byte("\x1b]0;owned\a"), part...)
		}
		if err := w.Part(store.Out, p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.EndParts(store.Out, time.Second, store.CRLF); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(t.Context(), store.End{State: store.Closed, Wire: [store.Streams]int64{-1, -1, -1}}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, o := range []showOptions{{Frames: true}, {}} {
		o.File, o.Out, o.Seq = path, &b, seqs{From: 1}
		b.Reset()
		if err := show(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		harmless(t, b.String(), true)
		if !strings.Contains(b.String(), `\x1b]0;owned\x070123456789`) || !strings.Contains(b.String(), "19 MB") || b.Len() > 64<<10 {
			t.Errorf("%d bytes: %.300s", b.Len(), b.String())
		}
	}
	d := drive(t, path, 80, 24)
	d.settle()
	d.keys("Enter").wants(`\x1b]0;owned\x07012`).keys("2").wants(`\x1b]0;owned\x07012`).keys("3").wants("giant", `\x1b]0;owned`)
	d.keys("Enter").wants("not JSON").keys("3").wants("00000000  1b 5d 30 3b").keys("G").wants("65 66 0d 0a")
	d.keys("g").wants("00000000  1b 5d 30 3b")
}
