module peer

go 1.25
