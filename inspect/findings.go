package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
// secrets of this environment are not looked for. Of a damaged session it tells
// the damage.
func findingsOf(ctx context.Context, l *look) ([]Finding, error) {
	kept, known := keptFindings(l)
	file := fileState(l.Path)
	if known && file != "" && kept.File == file {
		return append(kept.Integrity, kept.Others...), nil
	}
	o := &checkOptions{Level: LevelWarning}
	if known { // only the file may have been damaged since
		o.Only = []string{"integrity"}
	}
	now := findings{File: file, Others: kept.Others}
	err := runCheckers(ctx, l, o, now.add)
	all := append(now.Integrity, now.Others...)
	if err != nil && slices.ContainsFunc(now.Integrity, func(f Finding) bool { return f.Rule == "integrity/"+string(store.Damaged) }) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("checking session %d: %w", l.Session.ID, err)
	}
	keepFindings(l, now)
	return all, nil
}

// findings are those of a session as they are kept: what is said of its bytes
// for as long as the file is as it was.
type findings struct {
	File      string    `json:"file"` // see fileState
	Integrity []Finding `json:"integrity"`
	Others    []Finding `json:"others"`
}

// add takes what is more than a note.
func (k *findings) add(f Finding) {
	switch {
	case f.Level.below(LevelWarning):
	case strings.HasPrefix(f.Rule, "integrity/"):
		k.Integrity = append(k.Integrity, f)
	default:
		k.Others = append(k.Others, f)
	}
}

// fileState changes when a file does; "" when it cannot be told.
func fileState(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	return fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())
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
		kept, known := keptFindings(l)
		if !known {
			return -1, nil
		}
		return findingsIn(kept.Integrity) + findingsIn(kept.Others), nil
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

func keptFindings(l *look) (kept findings, known bool) {
	b, known := transcript.Found(l.Session, l.Dialect)
	if !known || json.Unmarshal(b, &kept) != nil {
		return findings{}, false
	}
	for _, list := range [][]Finding{kept.Integrity, kept.Others} {
		for i := range list {
			list[i].File, list[i].Session, list[i].UID = l.Path, l.Session.ID, l.Session.UID
		}
	}
	return kept, true
}

func keepFindings(l *look, f findings) {
	if l.Session.Count() < keptFrom && bytesOf(l.Session)+l.Session.ExchangedBytes < keptFromBytes {
		return
	}
	if b, err := json.Marshal(f); err == nil {
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
