package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func export(t testing.TB, s *Session) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteText(t.Context(), &b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func temp(t testing.TB) *DB {
	t.Helper()
	db, err := OpenTemp(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// again imports text and exports it again.
func again(t testing.TB, text []byte) ([]byte, *Session) {
	t.Helper()
	list, err := temp(t).ReadText(t.Context(), iotest{bytes.NewReader(text)}, "x.agentrec")
	if err != nil {
		t.Fatalf("%v in\n%.2000s", err, text)
	}
	if len(list) != 1 {
		t.Fatalf("%d sessions", len(list))
	}
	return export(t, list[0]), list[0]
}

// iotest reads in pieces of odd lengths.
type iotest struct{ r io.Reader }

func (r iotest) Read(p []byte) (int, error) { return r.r.Read(p[:min(len(p), 100_003)]) }

// hard are frames that a text form may get wrong.
var hard = []string{
	``, `{}`, ` {}`, `{} `, "\t1", `[1,"crlf"]`, `"eof"`, `1`, `-0`, `1e400`, `nul`, "null", "{\"a\":\"\u2028\u202e\"}", "\ufeff{}", "a\rb", "{\"a\":\r1}",
	"\x00", "\xff\xfe", "{\"a\":\"\xff\"}", "\xed\xa0\x80", `"\ud800"`, `{"a":1,"a":2}`, "é\u2029\x7f\x1b[31m\b\f\"\\/", `["in", 0, {}]`, "<&>", "😀", "\\", "\r",
	strings.Repeat("[", 600) + strings.Repeat("]", 600), strings.Repeat("[", 512) + strings.Repeat("]", 512),
}

// hardExchange is an exchange with raw wherever it can be.
func hardExchange(raw string, at time.Duration, kind uint8) Exchange {
	cut := min(int(kind), len(raw))
	x := Exchange{
		Time: at, Route: RouteMITM, Proto: "HTTP/2.0", Method: "POST", URL: "https://h/" + raw,
		Header: []Field{{"A", raw}, {raw, "b"}, {"a", ""}}, Body: []byte(raw), Error: raw, Omitted: int64(kind),
	}
	if kind%2 == 0 {
		x.Status, x.Answered, x.Answer = 200+int(kind), at+time.Millisecond, []Field{{raw, raw}}
		x.Pieces = []Piece{{at + time.Second, []byte(raw[:cut])}, {at + time.Second, []byte(raw[cut:])}, {at + time.Hour, nil}}
		x.Trailer = []Field{{"T", raw}}
	}
	if kind%3 != 0 {
		x.End, x.Ended = CutShort, at+time.Minute
	}
	return x
}

func hardSession(t testing.TB, db *DB) *Session {
	w := begin(t, db, Start{
		UID: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Name: "né\n\"<", Tags: map[string]string{"": "", "a=b": "\u2028\x00", "k": "<>&"}, Started: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
		Host: "h", Cwd: "/c", Argv: []string{"a", "", "-- b"}, Version: "v", Dialect: "phi", Unredacted: true, Parent: "p",
	})
	at := time.Duration(0)
	w.Event(Event{Kind: EventStart})
	for i, raw := range hard {
		at += time.Duration(i*i) * time.Microsecond
		w.Frame(Stream(i%3), at, []byte(raw), Terminator(i%3))
		if i%3 == 0 {
			x := hardExchange(raw, at+time.Duration(i%2)*time.Millisecond, uint8(i))
			x.After = int64(i + 1)
			w.Exchange(x)
		}
		if i%5 == 0 {
			w.Event(Event{Time: at + time.Microsecond, Kind: EventLost, Stream: Stream(i % 3), Bytes: int64(i), Detail: raw})
		}
	}
	w.Event(Event{Time: at, Kind: EventExit, Exit: &Exit{Code: 0, Signal: "TERM"}})
	w.Event(Event{Time: at, Kind: EventEOF, Stream: Err})
	w.Event(Event{Time: at, Kind: "later", Stream: Out})
	if err := w.Close(t.Context(), End{State: Cut, Reason: "a\nb", Ended: time.Hour, Exit: &Exit{Code: 9}, Wire: [Streams]int64{1, -1, 0}}); err != nil {
		t.Fatal(err)
	}
	return w.Session()
}

func TestTextComesBack(t *testing.T) {
	db := newDB(t)
	s := hardSession(t, db)
	first := export(t, s)
	second, back := again(t, first)
	if !bytes.Equal(first, second) {
		t.Fatalf("exported\n%s\nthen\n%s", first, second)
	}
	if back.Edited || back.Original != nil || back.Chains != s.Chains || back.UID != s.UID || !back.Started.Equal(s.Started) || back.State != Cut || back.Wire != s.Wire {
		t.Errorf("it came back as %+v", back)
	}
	i := 0
	for f, err := range back.Frames(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if string(f.Raw) != hard[i] || f.Term != Terminator(i%3) || f.Stream != Stream(i%3) {
			t.Errorf("frame %q came back as %q, %d", hard[i], f.Raw, f.Term)
		}
		i++
	}
	if i != len(hard) {
		t.Errorf("%d frames, want %d", i, len(hard))
	}
	if !bytes.Contains(first, []byte("\n[\"in\", 440, {\"a\":1,\"a\":2}, \"eof\"]\n")) {
		t.Errorf("a valid frame does not stand verbatim in\n%s", first)
	}
}

func TestTextOfARandomSession(t *testing.T) {
	db := newDB(t)
	w := begin(t, db, Start{})
	list := some(rand.New(rand.NewPCG(8, 8)), 600)
	for i := range list {
		for j, c := range list[i].Raw {
			if c == '\n' {
				list[i].Raw[j] = 'x'
			}
		}
	}
	addAll(w, list)
	exchanges := someExchanges(rand.New(rand.NewPCG(8, 9)), 40)
	for i, x := range exchanges {
		exchanges[i].After = w.Last()
		x.After = w.Last()
		w.Exchange(x)
	}
	commit(t, w, "")
	live := export(t, w.Session())
	if second, s := again(t, live); !bytes.Equal(live, second) || s.State != Cut || s.Edited {
		t.Errorf("a live session comes back otherwise: %+v", s)
	}
	closeWriter(t, w)
	first := export(t, w.Session())
	second, s := again(t, first)
	if !bytes.Equal(first, second) {
		t.Error("the second export differs")
	}
	holds(t, s.db, s.ID, list)
	holdsExchanges(t, s.db, s.ID, exchanges)
}

// A request that is JSON stands as it is, and what is edited by hand shows.
func TestTextOfExchanges(t *testing.T) {
	w := begin(t, temp(t), Start{})
	w.Frame(In, time.Millisecond, []byte("{}"), LF)
	x := exchange(`{"b": 1, "a":[12345678901234567890, "é\u00e9"]}`, "data: {\"é\":1}\n\ndata: \xff")
	x.After = 1
	w.Exchange(x)
	x.Body = []byte("null")
	w.Exchange(x)
	closeWriter(t, w)
	text := export(t, w.Session())
	const line = `["exchange", 4000, {"route":"base-url","proto":"HTTP/1.1","method":"POST","url":"https://api.example/v1/chat/completions?a=b",` +
		`"header":[["Accept","*/*"],["Content-Type","application/json"],["X","b"],["X","a"],["Y",{"base64":"/wA="}]],` +
		`"body":{"b": 1, "a":[12345678901234567890, "é\u00e9"]},"status":200,"answered":1000,"answer":[["Content-Type","text/event-stream"]],` +
		`"pieces":[[1000,"data: {\"é\":1}\n\n"],[1000,{"base64":"ZGF0YTog/w=="}]],"trailer":[["T",""]],"end":"done","ended":995000}]`
	if !bytes.Contains(text, []byte("\n"+line+"\n")) {
		t.Errorf("the text is\n%s", text)
	}
	if !bytes.Contains(text, []byte(`"body":null,`)) {
		t.Errorf("null does not stand as it is in\n%s", text)
	}
	if second, s := again(t, text); !bytes.Equal(text, second) || s.Edited || s.Exchanged != 2 || s.exchangeChain != w.Session().exchangeChain {
		t.Errorf("it comes back as\n%s", second)
	}
	for was, now := range map[string]string{`"status":200`: `"status":201`, `data: {`: `data: [`, `"b": 1`: `"b": 2`, line + "\n": ""} {
		edited := bytes.Replace(text, []byte(was), []byte(now), 1)
		first, s := again(t, edited)
		if !s.Edited || *s.originalExchanges != w.Session().exchangeChain {
			t.Errorf("%q instead of %q does not show", now, was)
		}
		if got, err := Verify(t.Context(), s); err != nil || got.Verdict != IsEdited {
			t.Errorf("%q instead of %q: %v, %v", now, was, got, err)
		}
		if second, s := again(t, first); !bytes.Equal(first, second) || !s.Edited {
			t.Errorf("the export of an edited session is not stable:\n%s\n%s", first, second)
		}
	}
	for _, c := range []struct{ was, now, says string }{
		{`[1000,{"base64":"ZGF0YTog/w=="}]`, `[1,2]`, "a piece must be"},
		{`["Accept","*/*"]`, `["Accept"]`, "a header line must be"},
		{`"ended":995000`, `"ended":-1`, "cannot be"},
		{`"body":null`, `"body":null,"body:text":""`, "a request has one body"},
		{`"/wA="`, `"/wA"`, "not base64"},
	} {
		_, err := temp(t).ReadText(t.Context(), bytes.NewReader(bytes.Replace(text, []byte(c.was), []byte(c.now), 1)), "x")
		if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.now, err)
		}
	}
}

func TestTextGiants(t *testing.T) {
	n := MaxRaw + 100_000
	for name, piece := range map[string]string{"json": `{"a":["é",1.5,null]},`, "bytes": "\xff\x00\xfe"} {
		raw := bytes.Repeat([]byte(piece), n/len(piece)+1)
		if name == "json" {
			raw = append(append([]byte("["), raw...), "0]"...)
		}
		db := newDB(t)
		w := begin(t, db, Start{})
		for at := 0; at < len(raw); at += 70_001 {
			w.part(Out, raw[at:min(len(raw), at+70_001)])
		}
		w.endParts(Out, time.Second, CRLF)
		w.Frame(In, time.Second, []byte("{}"), LF)
		closeWriter(t, w)
		first := export(t, w.Session())
		second, s := again(t, first)
		if !bytes.Equal(first, second) {
			t.Errorf("%s: the second export differs", name)
		}
		if s.Chains != w.seen.Chains || s.Edited {
			t.Errorf("%s: the proof does not come back", name)
		}
		if name == "json" && !bytes.Contains(first, []byte(`, [{"a":["é"`)) {
			t.Error("a valid giant does not stand verbatim")
		}
	}
}

func TestTextRefuses(t *testing.T) {
	const head = "{\"agentrec\":1,\"uid\":\"u\"}\n"
	for _, c := range []struct{ text, says string }{
		{"", "x.agentrec is empty"},
		{" \n\n", "x.agentrec is empty"},
		{"hello\n", "is not a recording"},
		{"{\"a\":1}\n", "is not a recording"},
		{"{\"agentrec\":2}\n", "line 1: it was written by a newer agentrec"},
		{"{\"agentrec\":\"1\"}\n", "line 1: \"1\" is not a version"},
		{"{\"agentrec\":0}\n", "line 1: 0 is not a version"},
		{"{\"agentrec\":1,\"started\":\"x\"}\n", "line 1: started"},
		{"{\"agentrec\":1,\"tags\":1}\n", "line 1: it cannot be read"},
		{head + "\n[\"in\", 0, {}\n", "line 3: it is cut short"},
		{head + "[\"in\", 0, {]\n", "line 2: its third element is not JSON"},
		{head + "[\"in\", 0, {}", "line 2: it is cut short"},
		{head + "[\"in\", 0.5, {}]\n", "line 2: its second element"},
		{head + "[\"in\", 0, {}, \"lf\"]\n", "line 2: its value is followed by"},
		{head + "[\"in\", 0, {}] x\n", "line 2: its value is followed by"},
		{head + "[\"in:text\", 0, 5]\n", "line 2: what follows \"in:text\" must be a string"},
		{head + "[\"in:text\", 0, \"a\\nb\"]\n", "line 2: a frame cannot hold a line feed"},
		{head + "[\"in:base64\", 0, \"AAE\"]\n", "line 2: its value is not base64"},
		{head + "[\"in:base64\", 0, \"A===\"]\n", "line 2: its value is not base64"},
		{head + "[\"in:base64\", 0, \"AA==AA==\"]\n", "line 2: its value is not base64"},
		{head + "[\"talk\", 0, {}]\n", "line 2: kind \"talk\" is unknown; a newer agentrec may know it"},
		{head + "[\"in\", -1, {}]\n", "line 2: its time lies before"},
		{head + "[\"in\", 9223372036854775807, {}]\n", "line 2: its time lies"},
		{head + "[\"in\", 0, \"\xff\"]\n", "line 2: it is not UTF-8"},
		{head + "[\"event\", 0, {\"kind\":\"eof\",\"stream\":\"x\"}]\n", "line 2: there is no stream \"x\""},
		{head + "[\"event\", 0, {}]\n", "line 2: an event must have a kind"},
		{head + "[\"event\", 0, []]\n", "line 2: it cannot be read"},
		{head + "[\"proof\", 0, {\"state\":\"recording\"}]\n", "line 2: a proof must say"},
		{head + "[\"proof\", 0, {\"state\":\"closed\",\"in\":{\"frames\":1,\"bytes\":1,\"hash\":\"00\"}}]\n", "line 2: \"00\" is not a hash"},
		{head + "[\"proof\", 0, {\"state\":\"closed\"}]\n[\"in\", 0, {}]\n", "line 3: no header stands before it"},
		{head + "hello\n", "line 2: it is not an array"},
		{head + strings.Repeat("[", 500) + "\n", "line 2: it is not an array"},
		{head + head, "line 2: a session with the uid \"u\" stands before it"},
	} {
		for name, load := range map[string]func() error{
			"Import": func() error {
				_, err := temp(t).Import(t.Context(), strings.NewReader(c.text), "x.agentrec")
				return err
			},
			"OpenRead": func() error {
				path := filepath.Join(t.TempDir(), "x.agentrec")
				if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
				db, err := OpenRead(t.Context(), path)
				if err == nil {
					db.Close()
				}
				return err
			},
		} {
			err := load()
			if c.text == "" && name == "OpenRead" {
				continue // an empty file is a database without tables
			}
			if err == nil || !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s of %q: %v; want it to say %q", name, c.text, err, c.says)
			}
		}
	}
}

func TestBrokenImportLeavesNothing(t *testing.T) {
	db := newDB(t)
	good := export(t, hardSession(t, temp(t)))
	if _, err := db.Import(t.Context(), bytes.NewReader(append(bytes.Clone(good), "[\"in\"\n"...)), "x"); err == nil {
		t.Fatal("a broken text is imported")
	}
	if n := sessionCount(t, db); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
	if _, err := db.Import(t.Context(), bytes.NewReader(good), "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Import(t.Context(), bytes.NewReader(good), "x"); !errors.Is(err, ErrExists) {
		t.Errorf("the same session can be imported twice: %v", err)
	}
	if n := sessionCount(t, db); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

func TestTextByHand(t *testing.T) {
	for _, c := range []struct {
		text   string
		frames int64
		state  State
		edited bool
	}{
		{"{\"agentrec\":1}\n[\"in\",0,{}]\n", 1, Cut, false},
		{"\ufeff{ \"agentrec\" : 1, \"unknown\": {} }\r\n\r\n [ \"in\" , 5 , { \"a\" : 1 } ] \r\n", 1, Cut, false},
		{"{\"agentrec\":1}\n[\"in\",0,{}]\n[\"proof\",0,{\"state\":\"closed\"}]\n", 1, Closed, true},
		{"{\"agentrec\":1}\n[\"proof\",0,{\"state\":\"closed\",\"new\":[1]}]\n", 0, Closed, false},
	} {
		list, err := temp(t).Import(t.Context(), strings.NewReader(c.text), "x")
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if s := list[0]; s.Count() != c.frames || s.State != c.state || s.Edited != c.edited {
			t.Errorf("%q gives %+v", c.text, s)
		}
	}
	text := export(t, hardSession(t, temp(t)))
	edited := bytes.Replace(text, []byte(`"a":1,"a":2`), []byte(`"a":1,"b":2`), 1)
	first, s := again(t, edited)
	if !s.Edited || s.Original == nil || *s.Original == s.Chains {
		t.Errorf("an edited text gives %+v", s)
	}
	if second, _ := again(t, first); !bytes.Equal(first, second) {
		t.Errorf("the export of an edited session is not stable:\n%s\n%s", first, second)
	}
}

func TestSeveralSessionsInOneText(t *testing.T) {
	db := newDB(t)
	var text []byte
	for _, name := range []string{"a", "b", "c"} {
		w := begin(t, db, Start{Name: name})
		w.Frame(In, 0, []byte(name), LF)
		closeWriter(t, w)
		text = append(text, export(t, w.Session())...)
	}
	path := filepath.Join(t.TempDir(), "three.agentrec")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	read := openRead(t, path)
	list, err := read.Sessions(t.Context())
	if err != nil || len(list) != 3 || list[2].Name != "c" {
		t.Fatalf("%d sessions, %v", len(list), err)
	}
	if key, err := read.Secret(t.Context()); key != nil || err != nil {
		t.Errorf("a text file has the key %x, %v", key, err)
	}
	if read.Path() != path {
		t.Errorf("its path is %q", read.Path())
	}
	var back []byte
	for _, s := range list {
		back = append(back, export(t, s)...)
	}
	if !bytes.Equal(back, text) {
		t.Error("the sessions do not come back")
	}
}

func TestWire(t *testing.T) {
	list, err := temp(t).Import(t.Context(), strings.NewReader(`{"t_ms": 0.5, "dir": "c2s", "line": "{\"a\":1}\r"}

{"dir": "s2c", "line_b64": "/wA=", "other": 1}
{"t_ms": 7, "dir": "err", "line": "last", "no_lf": true}
`), "dir/phi.wire.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	s := list[0]
	holds(t, s.db, s.ID, []Frame{
		{Seq: 1, Stream: In, Time: 500 * time.Microsecond, Raw: []byte(`{"a":1}`), Size: 7, Term: CRLF},
		{Seq: 2, Stream: Out, Time: 500 * time.Microsecond, Raw: []byte("\xff\x00"), Size: 2, Term: LF},
		{Seq: 3, Stream: Err, Time: 7 * time.Millisecond, Raw: []byte("last"), Size: 4, Term: None},
	})
	if s.Name != "phi" || s.State != Closed {
		t.Errorf("it came as %+v", s)
	}
	for text, says := range map[string]string{
		"{\"dir\":\"x\",\"line\":\"\"}\n":                                  "line 1: dir",
		"{\"dir\":\"c2s\",\"line\":\"\"}\n{\"dir\":\"c2s\"}\n":             "line 2: it must hold",
		"{\"dir\":\"c2s\",\"line\":\"a\\nb\"}\n":                           "line 1: a frame cannot",
		"{\"dir\":\"c2s\",\"line_b64\":\"!\"}\n":                           "line 1: line_b64",
		"{\"dir\":\"c2s\",\"line\":\"\"}\nnoise\n":                         "line 2: it cannot be read",
		"{\"dir\":\"c2s\",\"line\":\"\",\"t_ms\":-5}\n":                    "line 1: t_ms",
		"{\"dir\":\"c2s\",\"line\":\"\",\"line_b64\":\"\"}\n":              "line 1: it must hold",
		"{\"dir\":\"c2s\",\"line\":\"\",\"t_ms\":1e300}\n{\"dir\":\"c2s\"": "line 1: t_ms",
	} {
		if _, err := temp(t).Import(t.Context(), strings.NewReader(text), "x"); err == nil || !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v; want %q", text, err, says)
		}
	}
}

// A line of the text form is read the same in whatever pieces it comes.
func TestTextLinesInPieces(t *testing.T) {
	text := export(t, hardSession(t, temp(t)))
	lines := bytes.Split(text, []byte("\n"))
	for _, line := range lines[1 : len(lines)-1] {
		read := func(size int) (string, error) {
			var got []byte
			l := textLine{take: func(p []byte) error {
				got = append(got, p...)
				return nil
			}}
			for at := 0; at < len(line); at += size {
				if err := l.add(line[at:min(len(line), at+size)]); err != nil {
					return "", err
				}
			}
			err := l.end()
			return fmt.Sprint(l.kind, l.form, l.gap, l.term, string(got)), err
		}
		want, err := read(len(line))
		if err != nil {
			t.Fatalf("%.100s: %v", line, err)
		}
		for size := 1; size < 9; size++ {
			if got, err := read(size); got != want || err != nil {
				t.Errorf("%.100s in pieces of %d: %.200q, %v; want %.200q", line, size, got, err, want)
			}
		}
	}
}
