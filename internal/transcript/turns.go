package transcript

import (
	"strings"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// turnOf returns the turn a frame belongs to when it begins none itself: that
// of the request it answers, the open one of its conversation, or the only
// open one when it names no conversation.
func (t *Transcript) turnOf(e *Entry, r *dialect.Reading, l *lane, partner int64) int32 {
	if e.Role == dialect.Response && partner > 0 {
		if turn := t.Entries[partner-1].Turn; turn > 0 {
			return turn
		}
	}
	if l.turn > 0 {
		return l.turn
	}
	if e.Conversation == 0 && e.Role != dialect.Response && len(t.pass.openTurns) == 1 {
		for turn := range t.pass.openTurns {
			return turn
		}
	}
	return 0
}

// prompt takes a prompt: it begins a turn, or joins the one that is open.
func (t *Transcript) prompt(e *Entry, seq int64, x *dialect.Reading, l *lane) {
	if e.Stream != store.In && (x.Rule == nil || !x.Rule.Turn) {
		return // a history told again
	}
	if l.turn > 0 {
		if e.Role == dialect.Request && !t.pass.oneLane {
			l.waiting = append(l.waiting, seq)
		}
		return
	}
	e.Turn = t.openTurn(seq, e, l, x.Text)
	t.Turns[e.Turn-1].answered = x.Rule != nil && x.Rule.Turn
}

// answersTurn reports whether the response to a request ends a turn for the
// only reason that it answers the prompt.
func (t *Transcript) answersTurn(request int64) bool {
	turn := t.Entries[request-1].Turn
	return turn > 0 && t.Turns[turn-1].First == request && t.Turns[turn-1].answered
}

func (t *Transcript) openTurn(seq int64, e *Entry, l *lane, prompt string) int32 {
	name := ""
	if e.Conversation > 0 {
		c := &t.Conversations[e.Conversation-1]
		c.Turns++
		name = c.Name
	}
	t.Turns = append(t.Turns, Turn{
		Conversation: name, conversation: e.Conversation, First: seq, Start: e.Time, End: e.Time,
		Prompt: strings.Clone(Clip(prompt, maxPrompt)),
	})
	l.turn = int32(len(t.Turns))
	t.pass.openTurns[l.turn] = l
	l.closeFolds()
	return l.turn
}

// end takes the end of a turn: of the one whose prompt it answers, or of the
// one open in the lane. An end that comes when no turn is open says more about
// the last one. It reports whether there was a turn.
func (t *Transcript) end(e *Entry, f store.Frame, x *dialect.Reading, l *lane, k *Link) bool {
	turn := l.turn
	if k != nil {
		q := t.Entries[k.Request.Seq-1]
		if q.Turn == 0 || t.Turns[q.Turn-1].First != k.Request.Seq {
			return false // of a prompt that joined another's turn
		}
		turn = q.Turn
		l = t.pass.lane(q.Conversation)
	}
	if turn == 0 {
		if turn = l.last; turn == 0 {
			return false
		}
	}
	e.Turn = turn
	e.Flags |= Ends
	u := &t.Turns[turn-1]
	u.Last = f.Seq
	u.Failed = x.Failed
	u.Outcome = strings.Clone(Clip(x.Text, maxName))
	if u.Outcome == "" && u.Failed {
		u.Outcome = "error"
	}
	if u.Outcome == "" {
		u.Outcome = "ended"
	}
	delete(t.pass.openTurns, turn)
	l.last = turn
	if l.turn == turn {
		l.turn = 0
		l.closeFolds()
		t.promote(l)
	}
	return true
}

// promote makes a turn of the prompt that has waited longest for the turn that
// has just ended, if it is still unanswered.
func (t *Transcript) promote(l *lane) {
	for len(l.waiting) > 0 {
		seq := l.waiting[0]
		l.waiting = l.waiting[1:]
		e := &t.Entries[seq-1]
		if e.Pair == 0 {
			e.Turn = t.openTurn(seq, e, l, "")
			return
		}
	}
}
