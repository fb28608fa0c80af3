// A Neo4j community server on 127.0.0.1, from its jars alone: java -cp 'lib/*' Neo4jServer.java DIR PORT [SCRIPT…]
// Serves the database "neo4j" in DIR over Bolt until its standard input ends; prints "ready" once it answers. The Cypher
// scripts are run first if the database is empty. From the environment: SERVER_PASSWORD (of the user "neo4j" of a new folder;
// without one nobody is asked who they are), SERVER_READ_ONLY (refuse every write), SERVER_PAGE_CACHE_MB.

import java.nio.file.Files;
import java.nio.file.Path;
import org.neo4j.configuration.GraphDatabaseInternalSettings;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

public class Neo4jServer {
    public static void main(String[] words) {
        try {
            serve(words);
        } catch (Throwable error) {
            error.printStackTrace();
            // The server's own threads would keep the process alive.
            Runtime.getRuntime().halt(1);
        }
    }

    private static void serve(String[] words) throws Exception {
        var address = new SocketAddress("127.0.0.1", Integer.parseInt(words[1]));
        var password = environment("SERVER_PASSWORD", "");
        var known = Files.exists(Path.of(words[0], "data", "databases", "system"));
        var readOnly = !environment("SERVER_READ_ONLY", "").isEmpty();
        var service = new DatabaseManagementServiceBuilder(Path.of(words[0]))
                .setConfig(BoltConnector.enabled, true)
                .setConfig(BoltConnector.listen_address, address)
                .setConfig(BoltConnector.advertised_address, address)
                .setConfig(GraphDatabaseSettings.auth_enabled, !password.isEmpty())
                .setConfig(GraphDatabaseSettings.auth_minimum_password_length, 1)
                .setConfig(GraphDatabaseSettings.auth_max_failed_attempts, 0)
                .setConfig(GraphDatabaseSettings.read_only_database_default, readOnly)
                .setConfig(GraphDatabaseSettings.pagecache_memory, Long.parseLong(environment("SERVER_PAGE_CACHE_MB", "64")) << 20)
                // Without it every stop waits ten seconds for requests that nobody sends.
                .setConfig(GraphDatabaseInternalSettings.netty_server_shutdown_quiet_period, 0)
                .setConfig(GraphDatabaseSettings.keep_logical_logs, "1 files")
                .setConfig(GraphDatabaseSettings.logical_log_rotation_threshold, 16L << 20)
                .build();
        if (!password.isEmpty() && !known) {
            var quoted = password.replace("\\", "\\\\").replace("'", "\\'");
            service.database("system").executeTransactionally(
                    "ALTER USER neo4j SET PASSWORD '" + quoted + "' CHANGE NOT REQUIRED");
        }
        for (int at = 2; at < words.length; at++) {
            load(service, Path.of(words[at]), at == 2);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(service::shutdown));
        System.out.println("ready");
        // Whoever started this holds the other end: when that process ends, however it ends, so does the server.
        while (System.in.read() >= 0) {}
        System.exit(0);
    }

    private static void load(DatabaseManagementService service, Path script, boolean first) throws Exception {
        var database = service.database(GraphDatabaseSettings.DEFAULT_DATABASE_NAME);
        if (first && database.executeTransactionally(
                "MATCH (n) RETURN 1 LIMIT 1", java.util.Map.of(), result -> result.hasNext())) {
            System.out.println("the database is not empty: no script was run");
            return;
        }
        for (var statement : Files.readString(script).split(";[ \\t]*(?:\\R|$)")) {
            if (!statement.replaceAll("(?m)^\\s*//.*$", "").isBlank()) {
                database.executeTransactionally(statement);
            }
        }
    }

    private static String environment(String name, String standard) {
        var given = System.getenv(name);
        return given == null || given.isEmpty() ? standard : given;
    }
}
