// The ordinary nats-server, built as a module so that its version and sums are pinned here.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/nats-io/nats-server/v2/server"
)

func main() {
	flags := flag.NewFlagSet("nats-server", flag.ExitOnError)
	options, err := server.ConfigureOptions(flags, os.Args[1:], server.PrintServerAndExit, flags.Usage, server.PrintTLSHelpAndDie)
	if err != nil {
		server.PrintAndDie(fmt.Sprintf("nats-server: %s", err))
	}
	bus, err := server.NewServer(options)
	if err != nil {
		server.PrintAndDie(fmt.Sprintf("nats-server: %s", err))
	}
	bus.ConfigureLogger()
	if err := server.Run(bus); err != nil {
		server.PrintAndDie(err.Error())
	}
	bus.WaitForShutdown()
}
