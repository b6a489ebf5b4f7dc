package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"agentrec/internal/child"
	"agentrec/store"
)

// Rerun runs the agent again against each recording: it plays the recorded
// client, answers the agent's calls from the recording and compares what the
// agent sends. It returns nil when all of it was as recorded, Divergence when it
// was not, a child.Failure when the agent cannot be started, and an error that
// wraps store.ErrUnusable when a recording cannot be used.
func Rerun(ctx context.Context, o RerunOptions) error {
	path, err := child.LookPath(o.Argv[0])
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return fmt.Errorf("finding %s: %w", o.Argv[0], err)
	}
	if o.Dir == "" && strings.ContainsRune(o.Argv[0], os.PathSeparator) {
		o.Argv = append([]string{path}, o.Argv[1:]...) // it starts elsewhere
	}
	reports := make([]*Report, len(o.Files))
	errs := make([]error, len(o.Files))
	var wg sync.WaitGroup
	var say sync.Mutex
	slots := make(chan struct{}, max(1, o.Jobs))
	for i, file := range o.Files {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break // interrupted: those that run say so
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer func() { <-slots }()
			var text bytes.Buffer
			reports[i], errs[i] = o.file(ctx, path, file, &text)
			say.Lock()
			defer say.Unlock()
			o.Stderr.Write(text.Bytes())
		}()
	}
	wg.Wait()
	reports = slices.DeleteFunc(reports, func(r *Report) bool { return r == nil })
	err = errors.Join(errs...)
	if o.Report != "" && len(reports) > 0 {
		err = errors.Join(err, writeReports(o.Report, reports))
	}
	failed := 0
	for _, r := range reports {
		failed += r.Failed()
	}
	if len(o.Files) > 1 {
		bad := 0
		for _, r := range reports {
			if r.Verdict != "pass" {
				bad++
			}
		}
		fmt.Fprintf(o.Stderr, "agentrec: %s, %d failed\n", count(len(reports), "rerun"), bad)
	}
	if err == nil && failed > 0 {
		return Divergence{Count: failed}
	}
	return err
}

// file runs one recording as often as asked for and writes what people are to
// read to text.
func (o *RerunOptions) file(ctx context.Context, path, file string, text io.Writer) (*Report, error) {
	var runs []*Report
	for range max(1, o.Runs) {
		r, err := openRerun(ctx, o, file, 0)
		if err != nil {
			return nil, err
		}
		report, err := o.once(ctx, r, path, text)
		r.close()
		if err != nil {
			return nil, err
		}
		if runs = append(runs, report); ctx.Err() != nil {
			break
		}
	}
	all := unstable(runs)
	for _, n := range all.Divergences {
		io.WriteString(text, human(n))
	}
	io.WriteString(text, rerunSummary(all))
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		io.WriteString(text, annotations(all))
	}
	return all, nil
}

// once runs the agent once.
func (o *RerunOptions) once(ctx context.Context, r *rerun, path string, text io.Writer) (*Report, error) {
	if err := r.run(ctx, path); err != nil {
		return nil, err
	}
	if err := r.compare(ctx); err != nil {
		return nil, err
	}
	report := r.report()
	for _, n := range r.refused {
		io.WriteString(text, human(n))
	}
	if r.blind() {
		n := Entry{Kind: Inexact, Message: fmt.Sprintf("by the dialect %s no frame of the agent says anything, so texts and calls were not compared; agentrec dialect draft %s proposes a table for --dialect", r.dialect.Name(), r.file)}
		report.Notes = append(report.Notes, n)
		fmt.Fprintf(text, "agentrec: %s\n", visible(n.Message))
	}
	if said := r.agent.stderr.text(); said != "" && report.Verdict != "pass" {
		fmt.Fprintf(text, "agentrec: the agent's stderr ends:\n%s\n", visibleLines(said))
	}
	if o.Keep != "" {
		where, err := r.keep(ctx, o.Keep)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(text, "agentrec: kept as session %d of %s\n", where, o.Keep)
	}
	missed := 0
	for _, n := range report.Divergences {
		if n.Kind == Refused && n.Request > 0 {
			missed++
		}
	}
	switch {
	case !o.Update || report.Verdict == "pass":
	case missed > 0:
		fmt.Fprintf(text, "agentrec: %s is not updated: it has no answers to %s of the agent to its model; add --model live\n", r.file, count(missed, "request"))
	default:
		if where, err := r.update(ctx); err != nil {
			return nil, fmt.Errorf("updating %s: %w", r.file, err)
		} else {
			report.accept(where)
		}
	}
	return report, nil
}

// accept turns the divergences of a rerun whose recording was updated into
// notes.
func (r *Report) accept(where string) {
	r.Notes = append(append([]Entry{{Kind: Updated, Message: "updated " + where}}, r.Divergences...), r.Notes...)
	r.Divergences, r.Dropped, r.Verdict = []Entry{}, 0, "pass"
}

// unstable makes one report of the reruns of one recording: what was found in
// some of them only is unstable.
func unstable(runs []*Report) *Report {
	all := runs[0]
	if len(runs) == 1 {
		return all
	}
	all.Runs = len(runs)
	place := map[string]int{}
	var found []Entry
	took := 0.0
	for _, r := range runs {
		seen := map[string]bool{}
		for _, n := range r.Divergences {
			key := fmt.Sprintf("%s\x00%s\x00%d\x00%s", n.Kind, n.Label, n.Seq, n.Message)
			for _, d := range n.Differences {
				key += "\x00" + d.Path
				if n.Seq == 0 {
					key += "\x00" + d.Live
				}
			}
			if seen[key] {
				continue
			}
			seen[key] = true
			at, ok := place[key]
			if !ok {
				at = len(found)
				place[key] = at
				n.Runs = 0
				found = append(found, n)
			}
			found[at].Runs++
		}
		took += r.Took
		all.Dropped = max(all.Dropped, r.Dropped)
	}
	all.Took = took
	all.Divergences = append([]Entry{}, found...)
	if all.Failed() > 0 {
		all.Verdict = "fail"
	}
	for i := range all.Divergences {
		n := &all.Divergences[i]
		n.Message += fmt.Sprintf(" (in %d of %d runs)", n.Runs, len(runs))
	}
	return all
}

// rerunSummary is the last word of a rerun.
func rerunSummary(r *Report) string {
	name := visible(reportName(r))
	what := fmt.Sprintf("%d of %d frames sent, %d received, %d recorded", r.In.Played, r.In.Recorded, r.Out.Played, r.Out.Recorded)
	if r.Exchanges != nil && r.Exchanges.Recorded > 0 {
		what += fmt.Sprintf(", %d of %d exchanges served", r.Exchanges.Played, r.Exchanges.Recorded)
	}
	if r.Runs > 1 {
		what = fmt.Sprintf("%d runs", r.Runs)
	}
	for _, n := range r.Notes {
		if n.Kind == Updated {
			return fmt.Sprintf("agentrec: rerun of %s: %s; %s\n", name, visible(n.Message), what)
		}
	}
	n := r.Failed()
	if n == 0 {
		return fmt.Sprintf("agentrec: rerun of %s passed: %s\n", name, what)
	}
	unsteady := 0
	for _, e := range r.Divergences {
		if e.Runs > 0 && e.Runs < r.Runs {
			unsteady++
		}
	}
	if unsteady > 0 {
		what += fmt.Sprintf(", %d unstable", unsteady)
	}
	return fmt.Sprintf("agentrec: rerun of %s failed: %s; %s\n", name, count(n, "divergence"), what)
}

func visibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = "  " + visible(lines[i])
	}
	return strings.Join(lines, "\n")
}

// writeReports writes all reports into one file, by its extension, or each into
// a directory.
func writeReports(where string, reports []*Report) error {
	for i, r := range reports {
		ext := filepath.Ext(where)
		var all []byte
		var err error
		switch info, statErr := os.Stat(where); {
		case statErr == nil && info.IsDir(), strings.HasSuffix(where, string(os.PathSeparator)), ext == "":
			w, err := newReporter(where, fmt.Sprintf("rerun-%s-%d-%d", r.Session.UID, os.Getpid(), i))
			if err != nil {
				return err
			}
			if err := w.close(r); err != nil {
				return err
			}
			continue
		case ext == ".xml":
			all, err = junit(reports)
		case ext == ".tap":
			all, err = tap(reports)
		default:
			for _, r := range reports {
				b, merr := reportJSON(r)
				all, err = append(all, b...), errors.Join(err, merr)
			}
		}
		if err == nil {
			err = replaceFile(where, 0o644, func(w io.Writer) error { _, err := w.Write(all); return err })
		}
		if err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
		return nil
	}
	return nil
}

// keep stores the rerun in a database, under a name that tells which rerun of its
// recording it is there, and returns its number there.
func (r *rerun) keep(ctx context.Context, file string) (number int64, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("keeping the rerun in %s: %w", file, err)
		}
	}()
	from, now, err := r.recorded(ctx)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	db, err := store.Open(ctx, file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	list, err := db.Sessions(ctx)
	if err != nil {
		return 0, err
	}
	name := fmt.Sprintf("rerun %d", 1+len(slices.DeleteFunc(list, func(s *store.Session) bool { return s.Parent != r.session.UID })))
	if r.session.Name != "" {
		name = r.session.Name + ", " + name
	}
	copies, err := db.Copy(ctx, now)
	if err != nil {
		return 0, err
	}
	return copies[0].ID, db.Rename(ctx, copies[0], name)
}
