package inspect

import "agentrec/store"

// ending says in a few words how a session ended and in which tone.
func ending(s *store.Session) (string, tone) {
	switch s.State {
	case store.Recording:
		return "recording", toneGood
	case store.Cut:
		if s.Reason != "" {
			return "cut: " + s.Reason, toneError
		}
		return "cut", toneError
	}
	switch {
	case s.Exit == nil:
		return "closed", tonePlain
	case s.Exit.Signal != "":
		return "SIG" + s.Exit.Signal, toneAsk
	case s.Exit.Code != 0:
		return s.Exit.Error(), toneError
	}
	return "exit status 0", tonePlain
}

// bytesOf is how many bytes of frames are stored, terminators included.
func bytesOf(s *store.Session) int64 {
	return s.Chains[store.In].Bytes + s.Chains[store.Out].Bytes + s.Chains[store.Err].Bytes
}
