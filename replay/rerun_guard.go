package replay

import (
	"context"
	"fmt"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// maxOwn is how many of an agent's own calls are listed.
const maxOwn = 5

// guard refuses a recording in which the agent ran tools of its own: with the
// recorded model, or the same prompts, it would run them again, for real.
func (r *rerun) guard(ctx context.Context, until int64) error {
	t, err := transcript.Build(ctx, r.session, r.dialect)
	if err != nil {
		return err
	}
	own, err := r.ownCalls(ctx, t, until)
	if err != nil || len(own) == 0 {
		return err
	}
	more := ""
	if n := len(own) - maxOwn; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
		own = own[:maxOwn]
	}
	return fmt.Errorf("%w: in session %d of %s the agent ran tools of its own and would run them again, for real: %s%s; add --real-tools to let it, in an empty directory or the one of --dir",
		store.ErrUnusable, r.session.ID, r.file, strings.Join(own, ", "), more)
}

// ownCalls lists the calls that no client answered: those whose result came
// from the agent and, where clients offer tools, those of a tool that the client
// never offered.
func (r *rerun) ownCalls(ctx context.Context, t *transcript.Transcript, until int64) ([]string, error) {
	var own []string
	for _, c := range t.Calls {
		if until > 0 && c.Seq >= until {
			continue
		}
		call, _ := t.Entry(c.Seq)
		if call.Stream != store.Out {
			continue
		}
		answered := call.Role == dialect.Request
		if result, ok := t.Entry(c.ResultSeq); ok {
			answered = result.Stream == store.In
		}
		if !answered {
			own = append(own, fmt.Sprintf("%s (frame %d)", visible(orCall(c.Name)), c.Seq))
		}
	}
	if len(own) > 0 {
		return own, nil
	}
	return r.neverOffered(ctx, until)
}

func orCall(name string) string {
	if name == "" {
		return "a call"
	}
	return name
}

// neverOffered lists the frames of the agent that name a tool which the client
// did not offer, where the client of this protocol offers tools.
func (r *rerun) neverOffered(ctx context.Context, until int64) ([]string, error) {
	offered := map[string]bool{}
	offers := false
	for _, rule := range r.dialect.Rules() {
		offers = offers || rule.Offers()
	}
	if !offers {
		return nil, nil
	}
	seen := map[string]bool{}
	var own []string
	for f, err := range r.session.Frames(ctx, 1, 0) {
		if err != nil {
			return nil, fmt.Errorf("reading the session's frames: %w", err)
		}
		if until > 0 && f.Seq >= until {
			break
		}
		if f.Stream == store.Err || f.Raw == nil {
			continue
		}
		x := r.dialect.Read(f.Stream, f.Raw)
		switch {
		case x.Name == "" || x.Rule == nil:
		case x.Rule.Offers():
			offered[strings.Clone(x.Name)] = true
		case f.Stream == store.Out && !offered[x.Name] && !seen[x.Name]:
			seen[strings.Clone(x.Name)] = true
			own = append(own, fmt.Sprintf("%s (frame %d)", visible(x.Name), f.Seq))
		}
	}
	return own, nil
}
