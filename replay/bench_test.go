package replay

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"agentrec/store"
)

// longFile writes a recording of one turn with n frames of about 150 bytes, and
// returns it with their bytes.
func longFile(b *testing.B, n int) (file string, size int64) {
	b.Helper()
	file = filepath.Join(b.TempDir(), "long.agentrec")
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, `{"agentrec":1,"dialect":"phi"}`)
	fmt.Fprintln(w, `["in", 0, {"type":"run","query":"go"}]`)
	for i := range n {
		line := fmt.Sprintf(`{"type":"event","seq":%d,"session_id":{"external_id":null,"id":2},"runtimeEventType":"textDelta","text":"word %d of them"}`, i, i)
		size += int64(len(line)) + 1
		fmt.Fprintf(w, "[\"out\", 5, %s]\n", line)
	}
	fmt.Fprintln(w, `["out", 5, {"type":"done","seq":0,"outcome":"completed"}]`)
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return file, size
}

// BenchmarkReplay holds a replay, which writes as much as the client has room
// for, against a pipe that gets one write a frame.
func BenchmarkReplay(b *testing.B) {
	const n = 50_000
	b.Run("limit", func(b *testing.B) {
		frame := []byte(strings.Repeat("x", 149) + "\n")
		for b.Loop() {
			r, w, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			go func() {
				for range n {
					w.Write(frame)
				}
				w.Close()
			}()
			if got, err := io.Copy(io.Discard, bufio.NewReaderSize(r, 64<<10)); err != nil || got != n*150 {
				b.Fatal(got, err)
			}
			b.SetBytes(n * 150)
			r.Close()
		}
	})
	b.Run("replay", func(b *testing.B) {
		file, size := longFile(b, n)
		b.SetBytes(size)
		for b.Loop() {
			b.StopTimer()
			a := Serve(b, file)
			if _, err := io.WriteString(a.Stdin, `{"type":"run","query":"go"}`+"\n"); err != nil {
				b.Fatal(err)
			}
			r := bufio.NewReaderSize(a.Stdout, 64<<10)
			if _, err := r.ReadSlice('\n'); err != nil { // the script is there
				b.Fatal(err)
			}
			b.StartTimer()
			for range n {
				if _, err := r.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			if err := a.Wait(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	})
}

// BenchmarkFirst is the time from opening a recording to its first frame.
func BenchmarkFirst(b *testing.B) {
	for b.Loop() {
		a := Serve(b, "../samples/phi.agentrec", func(o *Options) { o.AllowUnsent = true })
		if _, err := bufio.NewReader(a.Stdout).ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		a.Wait()
		b.StartTimer()
	}
}

// BenchmarkBuild is what a script costs, in time and memory, by frame.
func BenchmarkBuild(b *testing.B) {
	const n = 200_000
	file, _ := longFile(b, n)
	for b.Loop() {
		b.StopTimer()
		o := Options{File: file}
		db, session, err := find(b.Context(), &o, nil)
		if err != nil {
			b.Fatal(err)
		}
		p, err := newPlayer(b.Context(), o, session)
		if err != nil {
			b.Fatal(err)
		}
		d, err := p.dialect()
		if err != nil {
			b.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		b.StartTimer()
		s, err := p.build(d, func(store.Frame) {})
		if err != nil {
			b.Fatal(err)
		}
		e := newEngine(s.finish(session.State), p.matching, p.v, nil)
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "live-B/frame")
		b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/n, "alloc-B/frame")
		runtime.KeepAlive(e)
		db.Close()
		b.StartTimer()
	}
}
