package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agentrec/store"
)

// SummaryOptions says which reports to sum up and how to print them.
type SummaryOptions struct {
	Paths  []string // report files in JSON, and directories of such
	JSON   bool     // NDJSON, a report a line
	Format string   // "", junit or tap
	Quiet  bool     // only what failed
	Stdout io.Writer
}

// Summarise prints the reports of many replays and returns Divergence when one
// of them failed. A report that was left unfinished, by a replay that was
// killed, is judged by what it says; without any report it fails with an error
// that wraps store.ErrUnusable, for then nothing was replayed.
func Summarise(o SummaryOptions) error {
	var reports []*Report
	for _, path := range o.Paths {
		more, err := readReports(path)
		if err != nil {
			return err
		}
		reports = append(reports, more...)
	}
	if len(reports) == 0 {
		return fmt.Errorf("%w: no report in %s; was anything replayed with --report?", store.ErrUnusable, strings.Join(o.Paths, ", "))
	}
	slices.SortStableFunc(reports, func(a, b *Report) int { return a.Started.Compare(b.Started) })
	failed, divergences := 0, 0
	for _, r := range reports {
		if r.Verdict != "pass" {
			failed++
			divergences += max(1, r.Failed())
		}
	}
	if err := printSummary(o, reports, failed); err != nil {
		return fmt.Errorf("printing the summary: %w", err)
	}
	if failed > 0 {
		return Divergence{Count: divergences}
	}
	return nil
}

func printSummary(o SummaryOptions, reports []*Report, failed int) error {
	write := func(b []byte, err error) error {
		if err == nil {
			_, err = o.Stdout.Write(b)
		}
		return err
	}
	switch {
	case o.Format == "junit":
		return write(junit(reports))
	case o.Format == "tap":
		return write(tap(reports))
	case o.JSON:
		enc := json.NewEncoder(o.Stdout)
		for _, r := range reports {
			if err := enc.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	what := command(reports[0])
	for _, r := range reports {
		if command(r) != what {
			what = "report"
		}
		if o.Quiet && r.Verdict == "pass" {
			continue
		}
		state := ""
		if r.State != "done" {
			state = ", killed"
		}
		words := [2]string{"matched", "sent"}
		if r.Command == "rerun" {
			words = [2]string{"sent", "received"}
		}
		if _, err := fmt.Fprintf(o.Stdout, "%-4s  %s  %d/%d %s, %d/%d %s%s\n", r.Verdict, visible(reportName(r)),
			r.In.Played, r.In.Recorded, words[0], r.Out.Played, r.Out.Recorded, words[1], state); err != nil {
			return err
		}
		if r.Verdict != "pass" {
			text := ""
			for line := range strings.SplitSeq(strings.TrimRight(problems(r), "\n"), "\n") {
				text += "      " + strings.TrimPrefix(line, "agentrec: ") + "\n"
			}
			if os.Getenv("GITHUB_ACTIONS") == "true" {
				text += annotations(r)
			}
			if _, err := io.WriteString(o.Stdout, text); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(o.Stdout, "%s, %d failed\n", count(len(reports), what), failed)
	return err
}

// readReports reads a report file, or all of a directory.
func readReports(path string) ([]*Report, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no %s; no replay with --report %s has begun", store.ErrUnusable, path, path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: reading reports: %w", store.ErrUnusable, err)
	}
	files := []string{path}
	if info.IsDir() {
		list, err := os.ReadDir(path) // sorted by name
		if err != nil {
			return nil, fmt.Errorf("%w: reading reports: %w", store.ErrUnusable, err)
		}
		files = nil
		for _, e := range list {
			if strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
	}
	var out []*Report
	for _, file := range files {
		b, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%w: reading reports: %w", store.ErrUnusable, err)
		}
		for dec := json.NewDecoder(bytes.NewReader(b)); ; {
			r := new(Report)
			err := dec.Decode(r)
			if err == io.EOF {
				break
			}
			if err != nil || r.Format != 1 {
				return nil, fmt.Errorf("%w: %s is no report of agentrec replay or rerun", store.ErrUnusable, file)
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// count counts for people.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
