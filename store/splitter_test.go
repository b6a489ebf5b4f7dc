package store

import (
	"bytes"
	"fmt"
	"testing"
)

// cut is what a splitter made of a stream: per frame its bytes and terminator.
type cut struct {
	raw  string
	term Terminator
}

// split cuts input, given in chunks of the lengths that sizes name in turn, and
// joins the parts of giants.
func split(t testing.TB, input []byte, sizes []byte) []cut {
	t.Helper()
	var s Splitter
	var list []cut
	var giant []byte
	open := false
	take := func(l Line) error {
		if bytes.IndexByte(l.Raw, '\n') >= 0 {
			t.Fatal("a line holds an LF")
		}
		if !l.Part {
			if open || !l.Last || len(l.Raw) > MaxRaw {
				t.Fatalf("a whole line of %d bytes, giant open %v, last %v", len(l.Raw), open, l.Last)
			}
			list = append(list, cut{string(l.Raw), l.Term})
			return nil
		}
		open = true
		giant = append(giant, l.Raw...)
		if l.Last {
			if len(giant) <= MaxRaw {
				t.Fatalf("a giant of %d bytes", len(giant))
			}
			list = append(list, cut{string(giant), l.Term})
			giant, open = nil, false
		}
		return nil
	}
	for i := 0; len(input) > 0; i++ {
		n := len(input)
		if len(sizes) > 0 {
			n = min(n, 1+int(sizes[i%len(sizes)]))
		}
		if err := s.Split(bytes.Clone(input[:n]), take); err != nil {
			t.Fatal(err)
		}
		input = input[n:]
	}
	if err := s.End(take); err != nil {
		t.Fatal(err)
	}
	if s.Open() || open {
		t.Fatal("a line is open after the end")
	}
	return list
}

func join(list []cut) []byte {
	var b []byte
	for _, c := range list {
		b = append(b, c.raw...)
		b = append(b, c.term.Bytes()...)
	}
	return b
}

func checkSplit(t testing.TB, input []byte, sizes []byte) {
	t.Helper()
	whole := split(t, input, nil)
	if !bytes.Equal(join(whole), input) {
		t.Fatalf("%q comes back as %q", input, join(whole))
	}
	parts := split(t, input, sizes)
	if fmt.Sprint(parts) != fmt.Sprint(whole) {
		t.Fatalf("in chunks of %v: %q, in one: %q", sizes, parts, whole)
	}
	lines := bytes.Count(input, []byte{'\n'})
	if len(input) > 0 && input[len(input)-1] != '\n' {
		lines++
	}
	if len(whole) != lines {
		t.Fatalf("%q has %d frames, want %d", input, len(whole), lines)
	}
	for i, c := range whole {
		if c.term == None && i != len(whole)-1 || c.term == LF && len(c.raw) > 0 && c.raw[len(c.raw)-1] == '\r' {
			t.Fatalf("frame %d of %q ends with terminator %d", i, input, c.term)
		}
	}
}

func FuzzSplitter(f *testing.F) {
	for _, s := range []string{"", "\n", "\r\n", "\r", "a\r\r\n\rb\n\n", "{\"a\":1}\n{}\r\nlast", "\xff\x00\u2028\n\ufeff{}\n"} {
		f.Add([]byte(s), []byte{0})
		f.Add([]byte(s), []byte{1, 0, 5})
	}
	f.Fuzz(func(t *testing.T, input, sizes []byte) { checkSplit(t, input, sizes) })
}

func TestSplitterGiants(t *testing.T) {
	long := bytes.Repeat([]byte("x"), MaxRaw)
	for _, tail := range []string{"", "\r\n", "\r", "\r\r\n", "y", "y\r\n", "\ry\n"} {
		input := append(append(bytes.Clone(long), tail...), "next\n"...)
		if tail != "" && tail[len(tail)-1] != '\n' {
			input = append(bytes.Clone(long), tail...)
		}
		whole := split(t, input, nil)
		if !bytes.Equal(join(whole), input) {
			t.Fatalf("tail %q: does not join back", tail)
		}
		for _, size := range []int{1<<20 + 1, MaxRaw + 1} {
			var s Splitter
			var got []cut
			var giant []byte
			take := func(l Line) error {
				giant = append(giant, l.Raw...)
				if l.Last {
					if l.Part != (len(giant) > MaxRaw) {
						t.Errorf("tail %q: a frame of %d bytes, giant %v", tail, len(giant), l.Part)
					}
					got = append(got, cut{string(giant), l.Term})
					giant = nil
				}
				return nil
			}
			for at := 0; at < len(input); at += size {
				s.Split(input[at:min(len(input), at+size)], take)
			}
			s.End(take)
			if len(got) != len(whole) || !bytes.Equal(join(got), input) {
				t.Errorf("tail %q in chunks of %d: %d frames, want %d", tail, size, len(got), len(whole))
			}
			for i := range got {
				if got[i] != whole[i] {
					t.Errorf("tail %q in chunks of %d: frame %d differs", tail, size, i)
				}
			}
			if cap(s.carry) > 1<<20 {
				t.Errorf("the splitter keeps %d bytes", cap(s.carry))
			}
		}
	}
}

func TestSplitterStopsAtAnError(t *testing.T) {
	var s Splitter
	n := 0
	err := s.Split([]byte("a\nb\nc\n"), func(Line) error {
		n++
		return fmt.Errorf("stop")
	})
	if err == nil || n != 1 {
		t.Errorf("%d lines, %v", n, err)
	}
}

func TestWriterTakesLines(t *testing.T) {
	db := newDB(t)
	w := begin(t, db, Start{})
	input := append(bytes.Repeat([]byte("g"), MaxRaw+5), "\r\nshort\nlast"...)
	var s Splitter
	take := func(l Line) (err error) {
		switch {
		case !l.Part:
			w.Frame(Out, 0, l.Raw, l.Term)
		default:
			if err = w.Part(Out, l.Raw); err == nil && l.Last {
				_, err = w.EndParts(Out, 0, l.Term)
			}
		}
		return err
	}
	for at := 0; at < len(input); at += 100_000 {
		if err := s.Split(input[at:min(len(input), at+100_000)], take); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.End(take); err != nil {
		t.Fatal(err)
	}
	closeWriter(t, w)
	session, err := db.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for f, err := range session.Metas(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(f.Size, f.Term))
	}
	if fmt.Sprint(got) != fmt.Sprint([]string{fmt.Sprint(MaxRaw+5, CRLF), fmt.Sprint(5, LF), fmt.Sprint(4, None)}) {
		t.Errorf("frames %v", got)
	}
}

func BenchmarkSplitter(b *testing.B) {
	for _, size := range []int{200, 2 << 10, 64 << 10, 1 << 20} {
		line := append(bytes.Repeat([]byte("x"), size-1), '\n')
		stream := bytes.Repeat(line, (8<<20)/size)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				var s Splitter
				n := 0
				for at := 0; at < len(stream); at += 64 << 10 {
					s.Split(stream[at:min(len(stream), at+64<<10)], func(l Line) error { n++; return nil })
				}
				if n != len(stream)/size {
					b.Fatal(n)
				}
			}
		})
	}
}
