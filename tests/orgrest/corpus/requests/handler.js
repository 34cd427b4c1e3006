client.log("from a file");
