package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

type closer struct {
	bytes.Buffer
	closed bool
}

func (c *closer) Close() error { c.closed = true; return nil }

func TestDeeds(t *testing.T) {
	const sent = `{"id":1,"method":"a"}` + "\n" + `{"id":2,"method":"b","params":{"requestId":1}}` + "\n"
	for _, c := range []struct {
		name string
		deed deed
		want string
	}{
		{"nothing of the kind", deed{At: "zzz", Do: "drop"}, sent},
		{"drop", deed{At: `"a"`, Do: "drop"}, `{"id":2,"method":"b","params":{"requestId":1}}` + "\n"},
		{"the second", deed{At: "method", Nth: 2, Do: "drop"}, `{"id":1,"method":"a"}` + "\n"},
		{"twice", deed{At: `"a"`, Do: "twice"}, `{"id":1,"method":"a"}` + "\n" + sent},
		{"edit", deed{At: `"a"`, Do: "edit", Old: `"a"`, New: `"c"`}, strings.Replace(sent, `"a"`, `"c"`, 1)},
		{"before", deed{At: `"b"`, Do: "before", Frame: "x"}, `{"id":1,"method":"a"}` + "\nx\n" + `{"id":2,"method":"b","params":{"requestId":1}}` + "\n"},
		{"end", deed{At: `"b"`, Do: "end"}, `{"id":1,"method":"a"}` + "\n"},
		{"retype", deed{At: `"id"`, Nth: -1, Do: "retype"}, `{"id":"m-1","method":"a"}` + "\n" + `{"id":"m-2","method":"b","params":{"requestId":"m-1"}}` + "\n"},
		{"hold", deed{At: `"a"`, Do: "hold", Until: "z"}, `{"id":2,"method":"b","params":{"requestId":1}}` + "\n"},
	} {
		m, err := newMeddler([]deed{c.deed})
		if err != nil {
			t.Fatal(err)
		}
		var to closer
		m.in(strings.NewReader(sent), &to)
		if to.String() != c.want || !to.closed {
			t.Errorf("%s: closed %v, sent\n%swant\n%s", c.name, to.closed, to.String(), c.want)
		}
	}
	if _, err := newMeddler([]deed{{Do: "dance"}}); err == nil {
		t.Error("an unknown deed was accepted")
	}
}

// TestAnswers holds that a client gets its own ids back and that a held frame
// follows what it waits for.
func TestAnswers(t *testing.T) {
	m, err := newMeddler([]deed{{At: `"id"`, Nth: -1, Do: "retype"}, {At: `"b"`, Do: "hold", Until: "ready"}})
	if err != nil {
		t.Fatal(err)
	}
	from, client := io.Pipe()
	var to closer
	done := make(chan struct{})
	go func() { defer close(done); m.in(from, &to) }()
	io.WriteString(client, `{"id":"x","method":"a"}`+"\n"+`{"id":7,"method":"b"}`+"\n")
	io.WriteString(client, " ") // once this is read, both frames have been dealt with
	var got bytes.Buffer
	if err := m.out(strings.NewReader(`{"id":9000,"result":"ready"}`+"\n"+`{"id":"m-7","result":0}`+"\n"), &got); err != nil {
		t.Fatal(err)
	}
	client.Close()
	<-done
	if want := `{"id":"x","result":"ready"}` + "\n" + `{"id":7,"result":0}` + "\n"; got.String() != want {
		t.Errorf("the client got\n%swant\n%s", got.String(), want)
	}
	if want := `{"id":9000,"method":"a"}` + "\n" + `{"id":"m-7","method":"b"}` + "\n "; to.String() != want {
		t.Errorf("the agent got\n%swant\n%s", to.String(), want)
	}
}
