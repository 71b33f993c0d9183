module sealstone.test/kmip-go

go 1.24
