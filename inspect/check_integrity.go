package inspect

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"

	"agentrec/store"
)

// checkIntegrity says whether a session is whole, still being recorded, cut,
// edited or damaged, by its proof: the hash chain of each stream over the
// frames as stored.
func checkIntegrity(ctx context.Context, l *look, _ *checkOptions, report func(Finding)) error {
	s := l.Session
	chains, seq, err := prove(ctx, s)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		report(Finding{Seq: seq + 1, Rule: "damaged", Level: LevelError, verdict: true,
			Message: fmt.Sprintf("damaged: frame %d cannot be read: %v", seq+1, err)})
		return nil
	}
	damaged := false
	for stream := store.In; stream <= store.Err; stream++ {
		want, got := s.Chains[stream], chains[stream]
		if want == got || s.State == store.Recording {
			continue
		}
		damaged = true
		report(Finding{Rule: "damaged", Level: LevelError, verdict: true,
			Message: fmt.Sprintf("damaged: the frames of %s do not fit their proof (%d of %d frames, %d of %d bytes)",
				stream, got.Frames, want.Frames, got.Bytes, want.Bytes)})
	}
	events, err := s.Events(ctx)
	if err != nil {
		return fmt.Errorf("reading the events: %w", err)
	}
	lost := lostBytes(events)
	for stream, n := range lost {
		if n > 0 {
			report(Finding{Rule: "lost", Level: LevelError, verdict: true,
				Message: fmt.Sprintf("incomplete: %s of %s were forwarded but not recorded%s", size(n), store.Stream(stream), whyLost(events))})
		}
	}
	held := count(int(s.Count()), "frame") + ", " + size(bytesOf(s))
	switch {
	case s.State == store.Cut:
		reason := s.Reason
		if reason == "" {
			reason = "the recorder ended early"
		}
		report(Finding{Seq: s.Count(), Rule: "cut", Level: LevelWarning, verdict: true,
			Message: fmt.Sprintf("cut after frame %d (%s): %s", s.Count(), clock(s.Ended), reason)})
	case damaged || lost != [store.Streams]int64{}:
	case s.Edited:
		report(Finding{Rule: "edited", Level: LevelNote, verdict: true, Message: "edited after it was recorded; as edited it is whole: " + held})
	case s.State == store.Recording:
		report(Finding{Rule: "recording", Level: LevelOK, Message: "still being recorded: " + held + " so far"})
	default:
		report(Finding{Rule: "whole", Level: LevelOK, Message: "whole, closed cleanly: " + held})
	}
	return nil
}

// prove computes the chains of a session again. On error seq is the last frame
// that could be read.
func prove(ctx context.Context, s *store.Session) (chains [store.Streams]store.Chain, seq int64, err error) {
	h := sha256.New()
	for f, err := range s.Frames(ctx, 1, 0) {
		if err != nil {
			return chains, seq, err
		}
		c := &chains[f.Stream]
		h.Reset()
		h.Write(c.Hash[:])
		if f.Raw == nil && f.Size > 0 {
			r, err := s.Reader(ctx, f.Seq)
			if err != nil {
				return chains, seq, err
			}
			_, err = io.Copy(h, r)
			r.Close()
			if err != nil {
				return chains, seq, err
			}
		} else {
			h.Write(f.Raw)
		}
		h.Write([]byte(f.Term.Bytes()))
		h.Sum(c.Hash[:0])
		c.Frames++
		c.Bytes += f.Wire()
		seq = f.Seq
	}
	return chains, seq, nil
}

// lostBytes sums what was forwarded without being recorded.
func lostBytes(events []store.Event) (lost [store.Streams]int64) {
	for _, e := range events {
		if e.Kind == store.EventLost && int(e.Stream) < len(lost) {
			lost[e.Stream] += max(e.Bytes, 1)
		}
	}
	return lost
}

// whyLost says why, once for each reason.
func whyLost(events []store.Event) string {
	var why []string
	for _, e := range events {
		if e.Kind == store.EventLost && e.Detail != "" && !strings.Contains(strings.Join(why, ", "), e.Detail) {
			why = append(why, e.Detail)
		}
	}
	if len(why) == 0 {
		return ""
	}
	return ": " + strings.Join(why, ", ")
}
