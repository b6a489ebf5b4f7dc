package replay

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// sampleLines reads a session of any form as lines of recordLines, with the
// name of its dialect.
func sampleLines(t *testing.T, path string) (name string, lines []string) {
	t.Helper()
	db, err := store.OpenRead(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := db.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	detector := dialect.Set{}.Detector(s.Argv)
	for f, err := range s.Frames(t.Context(), 1, 0) {
		if err != nil {
			t.Fatal(err)
		}
		detector.Observe(f.Stream, f.Raw)
		lines = append(lines, f.Stream.String()+" "+string(f.Raw))
	}
	if name = s.Dialect; name == "" {
		name = detector.Dialect().Name()
	}
	return name, lines
}

// lockstep plays a recording to the very client that was recorded: it sends a
// frame once it has everything that was recorded before it. It returns what was
// sent, and the first recorded frame that it did not get in time.
func lockstep(t *testing.T, name string, lines []string) (sent []string, late string) {
	t.Helper()
	m := newMemory(t, name, matching{}, lines)
	m.lawOne()
	sent = m.lines(m.e.start())
	for n, line := range lines {
		dir, frame, _ := strings.Cut(line, " ")
		if dir != "in" {
			if !m.e.done[n+1] && dir == "out" {
				return sent, line
			}
			continue
		}
		sent = append(sent, m.lines(m.e.frame([]byte(frame)))...)
	}
	m.e.eof()
	m.v.close(m.e, false)
	if k := m.kinds(); k != "" {
		t.Errorf("reported: %s", k)
	}
	return sent, ""
}

// The recorded client never waits in vain, whatever the conversation, and gets
// the same bytes each time.
func TestSamplesInLockstep(t *testing.T) {
	files, err := filepath.Glob("../samples/*.agentrec")
	if err != nil || len(files) < 3 {
		t.Fatalf("samples: %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			name, lines := sampleLines(t, file)
			first, late := lockstep(t, name, lines)
			if late != "" {
				t.Fatalf("was not sent in time: %s", late)
			}
			var recorded []string
			for _, line := range lines {
				if frame, ok := strings.CutPrefix(line, "out "); ok {
					recorded = append(recorded, frame)
				} else if frame, ok := strings.CutPrefix(line, "err "); ok {
					recorded = append(recorded, frame)
				}
			}
			want := slices.Sorted(slices.Values(recorded))
			if got := slices.Sorted(slices.Values(first)); !slices.Equal(got, want) {
				t.Errorf("sent %d frames that are not those recorded (%d)", len(got), len(want))
			}
			for range 50 {
				if again, _ := lockstep(t, name, lines); !slices.Equal(again, first) {
					t.Fatal("another replay sent other bytes")
				}
			}
		})
	}
}

var replays = flag.Int("replays", 50, "how many replays of each sample must give the same bytes")

// A whole replay, through the readers and writers, gives the same bytes each
// time.
func TestSamplesGiveTheSameBytes(t *testing.T) {
	files, err := filepath.Glob("../samples/*.agentrec")
	if err != nil || len(files) < 3 {
		t.Fatalf("samples: %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, lines := sampleLines(t, file)
			var first string
			for n := range *replays {
				c := startReplay(t, Options{File: file})
				for _, line := range lines {
					switch dir, frame, _ := strings.Cut(line, " "); dir {
					case "in":
						c.send(frame)
					case "out":
						c.recv()
					}
				}
				rest, err := c.close()
				if err != nil {
					t.Fatalf("replay %d left with %v: %s", n, err, c.side)
				}
				sent := strings.Join(append(c.all, rest...), "\n")
				if n == 0 {
					first = sent
				}
				if sent != first || len(c.all) == 0 {
					t.Fatalf("replay %d sent other bytes than the first:\n%s\n\n%s", n, sent, first)
				}
			}
		})
	}
}
