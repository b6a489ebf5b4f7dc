package inspect

import (
	"context"
	"encoding/json"
	"fmt"

	"agentrec/internal/transcript"
	"agentrec/store"
)

// keptFrom is from how many frames, or bytes of frames and exchanges, on what was
// found in a session is kept: below that looking again takes a moment.
const (
	keptFrom      = 2_000
	keptFromBytes = 1 << 20
)

// findingsOf returns what check finds in a session, warnings and errors. The
// secrets of this environment are not looked for.
func findingsOf(ctx context.Context, l *look) ([]Finding, error) {
	list, known := keptFindings(l)
	if known {
		return list, nil
	}
	err := runCheckers(ctx, l, &checkOptions{Level: LevelWarning}, func(f Finding) {
		if !f.Level.below(LevelWarning) {
			list = append(list, f)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("checking session %d: %w", l.Session.ID, err)
	}
	keepFindings(l, list)
	return list, nil
}

// checkedAtOnce is up to how many frames a session that is being recorded is
// checked unasked where findings are only mentioned: nothing of it can be kept.
const checkedAtOnce = 20_000

// mostUnasked is up to how many bytes of exchanges are looked through unasked,
// about a second's work.
const mostUnasked = 64 << 20

// findingCount is how many findings the outcome of a session speaks of, -1 when
// nobody looked.
func findingCount(ctx context.Context, l *look) (int, error) {
	if l.Session.State == store.Recording && l.Session.Count() > checkedAtOnce {
		return -1, nil
	}
	if l.Session.ExchangedBytes > mostUnasked {
		list, known := keptFindings(l)
		if !known {
			return -1, nil
		}
		return findingsIn(list), nil
	}
	list, err := findingsOf(ctx, l)
	return findingsIn(list), err
}

// findingsIn is how many findings a list tells of.
func findingsIn(list []Finding) int {
	n := len(list)
	for _, f := range list {
		n += f.More
	}
	return n
}

func keptFindings(l *look) (list []Finding, known bool) {
	b, known := transcript.Found(l.Session, l.Dialect)
	if !known || json.Unmarshal(b, &list) != nil {
		return nil, false
	}
	for i := range list {
		list[i].File, list[i].Session, list[i].UID = l.Path, l.Session.ID, l.Session.UID
	}
	return list, true
}

func keepFindings(l *look, list []Finding) {
	if l.Session.Count() < keptFrom && bytesOf(l.Session)+l.Session.ExchangedBytes < keptFromBytes {
		return
	}
	if b, err := json.Marshal(list); err == nil {
		transcript.KeepFound(l.Session, l.Dialect, b)
	}
}

// findingLine is a finding in a list.
func findingLine(f Finding) line {
	t := toneAsk
	if f.Level == LevelError {
		t = toneError
	}
	at := ""
	if f.Seq > 0 {
		at = fmt.Sprintf("#%d", f.Seq)
	}
	if f.Exchange > 0 {
		at = fmt.Sprintf("e%d", f.Exchange)
	}
	return line{}.pad(toneDim, at, 8).pad(t, string(f.Level), 8).pad(tonePlain, f.Rule, 26).add(tonePlain, " "+f.Message)
}
