package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// mostArgs is more than any command with a bound takes.
const mostArgs = 8

// speak makes the words about wrong arguments and flags of a command and those
// below it say what to type.
func speak(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return plainFlag(err) })
	if check := cmd.Args; check != nil && !cmd.HasSubCommands() {
		cmd.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err == nil || !counts(c, err) {
				return err
			}
			return plainCount(c, len(args), check)
		}
	}
	for _, sub := range cmd.Commands() {
		speak(sub)
	}
}

// counts reports whether an error comes from the validators of cobra, which
// count arguments and have no type of their own for what they say.
func counts(c *cobra.Command, err error) bool {
	s := err.Error()
	return strings.HasPrefix(s, "requires at least ") || strings.HasPrefix(s, "accepts ") ||
		strings.HasPrefix(s, "unknown command ") && strings.HasSuffix(s, fmt.Sprintf(" for %q", c.CommandPath()))
}

func plainCount(c *cobra.Command, n int, check cobra.PositionalArgs) error {
	use := c.CommandPath() + strings.TrimPrefix(c.Use, c.Name())
	fits := func(n int) bool { return check(c, make([]string, n)) == nil }
	for more := n + 1; more <= mostArgs; more++ {
		if fits(more) {
			return fmt.Errorf("something is missing; write %s", use)
		}
	}
	if fits(0) && !fits(1) {
		return fmt.Errorf("%s takes no arguments; write %s", c.Name(), use)
	}
	return fmt.Errorf("too many arguments; write %s", use)
}

// plainFlag says of a flag what is wanted, instead of which function of Go
// refused its value.
func plainFlag(err error) error {
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return err
	}
	return fmt.Errorf("--%s %s: %w", value.GetFlag().Name, value.GetValue(), wanted(err))
}

// wanted is what is wrong with a flag's value.
func wanted(err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		err = value.Unwrap()
	}
	var number *strconv.NumError
	if !errors.As(err, &number) {
		return err
	}
	switch {
	case errors.Is(number.Err, strconv.ErrRange):
		return errors.New("the number is too large")
	case number.Func == "ParseBool":
		return errors.New("want true or false")
	case number.Func == "ParseFloat":
		return errors.New("want a number")
	}
	return errors.New("want a whole number")
}
